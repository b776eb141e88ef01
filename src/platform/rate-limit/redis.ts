import { BoundedCache } from '../bounded-cache.ts';
import { Redis } from 'ioredis';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics.ts';
import { Lease, type Grant } from './lease.ts';
import type { RateLimiter, RatePolicy, RateVerdict } from './port.ts';
import { contentOf, neededOf, takePermits, type Bucket as LocalBucket } from './token-bucket.ts';
import { Windows } from './windows.ts';

const MAX_BUCKETS = 100_000;
const COMMAND_TIMEOUT_MS = 250;
const CONNECT_TIMEOUT_MS = 2_000;
const LONGEST_RECONNECT_MS = 1_000;
/** How often expired leases are returned to Redis, and a Redis that did not answer is pinged. */
const TICK_MS = 250;

/**
 * Refills the bucket by Redis's clock, adds the returned permits (negative: a debt), and takes up to the wanted permits. The bucket then
 * holds at most what the caller knows of it, which is less than the script finds when Redis lost the bucket, or did not
 * see what processes spent meanwhile. Returns how many permits were taken and the content left, as text because Redis
 * truncates numbers to integers. docs/decisions/022-rate-limits.md says why this is not a limiter of rate-limiter-flexible, as
 * windows are.
 */
const LEASE_SCRIPT = `
local per_ms, burst, wanted, returned = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local at_most = tonumber(ARGV[5])
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + time[2] / 1000
local bucket = redis.call('HMGET', KEYS[1], 'permits', 'at_ms')
local permits, at_ms = tonumber(bucket[1]) or burst, tonumber(bucket[2]) or now_ms
permits = math.min(burst, at_most, permits + math.max(0, now_ms - at_ms) * per_ms + returned)
local granted = math.max(0, math.min(wanted, math.floor(permits)))
permits = permits - granted
redis.call('HSET', KEYS[1], 'permits', string.format('%.6f', permits), 'at_ms', string.format('%.3f', math.max(now_ms, at_ms)))
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - permits) / per_ms) + 1000)
return { string.format('%d', granted), string.format('%.6f', permits) }
`;

interface LeasingRedis extends Redis {
  leasePermits(key: string, ...args: number[]): Promise<[granted: string, left: string]>;
}

export interface RedisRateLimiterOptions {
  redis_url: string;
  clock: Clock;
  logger: Logger;
  metrics: Pick<Metrics, 'rateLimiterDegraded'>;
  /** How long Redis may take to answer before this process limits alone; 250 ms by default. */
  command_timeout_ms?: number;
}

interface Bucket {
  key: string;
  lease: Lease;
  /** Spent while Redis does not answer, and what this process then knows of the shared bucket when Redis is back. */
  local: LocalBucket | undefined;
  /** The connection on which Redis answered last about this bucket. */
  connection: number;
  /** The running request to Redis for a block. */
  asking: Promise<void> | undefined;
  /** Permits that callers wait for. */
  waiting: number;
}

/**
 * Limits shared by all processes: token buckets and windows in Redis. Each process leases blocks of permits from a bucket and
 * spends them locally. While Redis does not answer, each process limits alone, beginning with what it knew of each
 * bucket; afterwards the shared bucket holds no more than that. So an interruption refills no bucket that this process
 * has used.
 */
export function createRedisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  return new RedisRateLimiter(options);
}

class RedisRateLimiter implements RateLimiter {
  #options: RedisRateLimiterOptions;
  #redis: LeasingRedis;
  #windows: Windows;
  #buckets = new BoundedCache<string, Bucket>({ max: MAX_BUCKETS });
  /** Whether Redis does not answer, so that local buckets decide. */
  #is_degraded = false;
  /** Counts interruptions: Redis may have lost the buckets, or not seen what was spent meanwhile. */
  #connection = 0;
  #timer: NodeJS.Timeout;

  constructor(options: RedisRateLimiterOptions) {
    this.#options = options;
    this.#redis = new Redis(options.redis_url, {
      scripts: { leasePermits: { lua: LEASE_SCRIPT, numberOfKeys: 1 } },
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: options.command_timeout_ms ?? COMMAND_TIMEOUT_MS,
      // No retries: the local buckets decide at once instead, so that callers do not wait.
      maxRetriesPerRequest: 0,
      retryStrategy: (attempt) => Math.min(attempt * 50, LONGEST_RECONNECT_MS),
    }) as LeasingRedis;
    // Ignored, because each failed command also rejects with the error.
    this.#redis.on('error', () => undefined);
    this.#redis.on('close', () => (this.#connection += 1));
    this.#windows = new Windows({
      redis: this.#redis,
      isAway: () => this.#is_degraded,
      onAlone: () => {
        if (!this.#is_degraded) this.#degrade(new Error('a command about a window was not answered'));
      },
    });
    options.metrics.rateLimiterDegraded.set(0);
    this.#timer = setInterval(() => void this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  take(policy: RatePolicy, key: string, count = 1): RateVerdict | Promise<RateVerdict> {
    const now_ms = this.#options.clock.now_ms();
    const bucket = this.#bucketOf(policy, key);
    if (this.#is_degraded) return takeLocally(bucket, count, now_ms);
    const verdict = bucket.lease.take(now_ms, count);
    if (verdict === undefined) return this.#takeLater(bucket, count);
    if (verdict.allowed && bucket.asking === undefined && bucket.lease.isLow(now_ms)) void this.#ask(bucket);
    return verdict;
  }

  takeInWindow(policy: RatePolicy, key: string): Promise<RateVerdict> {
    return this.#windows.take(policy, key);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    // A block that is on its way is returned, too.
    await Promise.all([...this.#buckets.values()].flatMap(({ asking }) => asking ?? []));
    if (!this.#is_degraded) await this.#returnPermits((lease) => lease.release());
    this.#redis.disconnect();
  }

  #bucketOf(policy: RatePolicy, key: string): Bucket {
    const name = `${policy.name}:${key}`;
    let bucket = this.#buckets.get(name);
    const before = bucket?.lease.policy;
    if (bucket === undefined || before?.per_second !== policy.per_second || before.burst !== policy.burst) {
      bucket = {
        key: `rate:{${name}}`,
        lease: new Lease(policy),
        local: undefined,
        connection: this.#connection,
        asking: undefined,
        waiting: 0,
      };
      this.#buckets.set(name, bucket);
    }
    return bucket;
  }

  async #takeLater(bucket: Bucket, count: number): Promise<RateVerdict> {
    const needed = neededOf(bucket.lease.policy, count);
    for (;;) {
      bucket.waiting += needed;
      await (bucket.asking ?? this.#ask(bucket));
      bucket.waiting -= needed;
      const now_ms = this.#options.clock.now_ms();
      if (this.#is_degraded) return takeLocally(bucket, count, now_ms);
      // Undefined when other waiting callers spent the block first, and the store may have more: ask again.
      const verdict = bucket.lease.take(now_ms, count);
      if (verdict !== undefined) return verdict;
    }
  }

  /** Asks the store for a block, or for as many permits as callers wait for. Never rejects. */
  #ask(bucket: Bucket): Promise<void> {
    const { lease } = bucket;
    const now_ms = this.#options.clock.now_ms();
    const wanted = Math.max(lease.block(now_ms), bucket.waiting);
    const asking = this.#call(bucket, wanted, lease.expire(now_ms))
      .then((grant) => lease.add(grant, wanted, this.#options.clock.now_ms()))
      .catch((error: unknown) => this.#degrade(error))
      .finally(() => {
        bucket.asking = undefined;
      });
    bucket.asking = asking;
    return asking;
  }

  async #call(bucket: Bucket, wanted: number, returned: number): Promise<Grant> {
    const connection = this.#connection;
    const { per_second, burst } = bucket.lease.policy;
    const [granted, left] = await this.#redis.leasePermits(
      bucket.key,
      per_second / 1000,
      burst,
      wanted,
      returned,
      bucket.connection === connection ? burst : known(bucket, this.#options.clock.now_ms()) + returned,
    );
    // After another interruption the local bucket is in use, and knows better.
    if (this.#connection === connection) {
      bucket.local = undefined;
      bucket.connection = connection;
    }
    return { granted: Number(granted), permits_left: Number(left) };
  }

  async #returnPermits(release: (lease: Lease) => number): Promise<void> {
    const calls: Promise<Grant>[] = [];
    for (const bucket of this.#buckets.values()) {
      const returned = release(bucket.lease);
      if (returned !== 0) calls.push(this.#call(bucket, 0, returned));
    }
    const failed = (await Promise.allSettled(calls)).find((result) => result.status === 'rejected');
    if (failed !== undefined) this.#degrade(failed.reason);
  }

  async #tick(): Promise<void> {
    if (!this.#is_degraded) {
      const now_ms = this.#options.clock.now_ms();
      await this.#returnPermits((lease) => lease.expire(now_ms));
      return;
    }
    const answered = await this.#redis.ping().then(
      () => true,
      () => false,
    );
    if (answered) this.#recover();
  }

  #degrade(error: unknown): void {
    this.#connection += 1;
    if (this.#is_degraded) return;
    this.#is_degraded = true;
    this.#options.metrics.rateLimiterDegraded.set(1);
    this.#options.logger.error({ err: error }, 'Redis does not answer; rate limits are decided locally');
  }

  #recover(): void {
    this.#is_degraded = false;
    this.#options.metrics.rateLimiterDegraded.set(0);
    this.#options.logger.info('Redis answers again; rate limits are shared');
  }
}

/** What this process knows of the shared bucket: the most that it can hold. */
function known({ local, lease }: Bucket, now_ms: number): number {
  return local === undefined ? lease.shared(now_ms) : contentOf(local, lease.policy, now_ms);
}

function takeLocally(bucket: Bucket, count: number, now_ms: number): RateVerdict {
  const { policy } = bucket.lease;
  if (bucket.local === undefined) {
    const permits = bucket.lease.shared(now_ms) + bucket.lease.release();
    bucket.local = { permits: Math.min(policy.burst, permits), at_ms: now_ms };
    bucket.lease = new Lease(policy);
  }
  return takePermits(bucket.local, policy, { count, now_ms });
}
