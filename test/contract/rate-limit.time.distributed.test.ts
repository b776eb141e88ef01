import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import type { RateLimiter, RatePolicy } from '../../src/platform/rate-limit/port.ts';
import { createRedisRateLimiter } from '../../src/platform/rate-limit/redis.ts';
import { startTcpProxy } from '../engines/tcp-proxy.ts';
import { startRedis, type RedisEngine } from '../engines/redis.ts';
import { rateLimitContract } from './rate-limit.contract.ts';
import { until } from '../engines/until.ts';

const INGEST: RatePolicy = { name: 'ingest', per_second: 10_000, burst: 50_000 };
const IDENTIFY: RatePolicy = { name: 'identify', per_second: 1_000, burst: 1_000 };

let redis: RedisEngine;
const metrics = createMetrics();
const open = (logger = createLogger('silent'), redis_url = redis.url): RateLimiter =>
  // On a busy machine a living Redis may answer late. One that is killed closes its connections, which shows at once.
  createRedisRateLimiter({ redis_url, clock: systemClock, logger, metrics, command_timeout_ms: 10_000 });

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => redis?.stop());

rateLimitContract('on Redis', async () => ({ open, stop: () => Promise.resolve() }));

/** How often scripts were called: a lease asks for a block, a window for one permit. */
async function scriptsCalled(): Promise<number> {
  const client = new Redis(redis.url);
  const stats = await client.info('commandstats');
  client.disconnect();
  const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].map((match) => Number(match[1]));
  return calls.reduce((sum, count) => sum + count, 0);
}

/**
 * Takes permits as fast as possible with each limiter for `length_ms`; returns how many were allowed, and the most and
 * the fewest that limiters within 5 % of the policy allow in the time that it took. While the process or Redis stands
 * still, which a client of its own tells, nobody takes what a full bucket loses; so the fewest do not count that time.
 */
async function rushOf(limiters: RateLimiter[], policy: RatePolicy, key: string, length_ms: number) {
  const start_ms = Date.now();
  const ended = new AbortController();
  const still = stoodStill(ended.signal);
  const taken = await Promise.all(
    limiters.map((limiter) => flood(limiter, policy, key, start_ms + length_ms)),
  );
  const took_ms = Date.now() - start_ms;
  ended.abort();
  const permitsIn = (ms: number) => policy.burst + (policy.per_second * ms) / 1_000;
  return {
    allowed: taken.reduce((sum, count) => sum + count, 0),
    most: permitsIn(took_ms) * 1.05,
    fewest: permitsIn(Math.max(0, took_ms - (await still))) * 0.95,
  };
}

/** Takes permits until `end_ms`; returns how many were allowed. */
async function flood(limiter: RateLimiter, policy: RatePolicy, key: string, end_ms: number): Promise<number> {
  let allowed = 0;
  while (Date.now() < end_ms) {
    for (let i = 0; i < 50; i++) {
      const verdict = limiter.take(policy, key);
      if ((verdict instanceof Promise ? await verdict : verdict).allowed) allowed++;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return allowed;
}

/** The sum, in ms, of all times of more than 100 ms in which this process or Redis did nothing, until `ended`. */
async function stoodStill(ended: AbortSignal): Promise<number> {
  const client = new Redis(redis.url);
  let sum_ms = 0;
  while (!ended.aborted) {
    const begun_ms = Date.now();
    await client.ping();
    await sleep(20);
    const took_ms = Date.now() - begun_ms;
    if (took_ms > 100) sum_ms += took_ms;
  }
  client.disconnect();
  return sum_ms;
}

test.each([INGEST, IDENTIFY])(
  'two processes together stay within 5 % of the limit of $name, and call Redis rarely',
  async (policy) => {
    const limiters = [open(), open()];
    const asked_before = await scriptsCalled();
    const { allowed, most, fewest } = await rushOf(limiters, policy, randomUUID(), 5_000);
    expect(allowed).toBeGreaterThan(fewest);
    expect(allowed).toBeLessThan(most);
    const asked = (await scriptsCalled()) - asked_before;
    // Measured against the permits: a refusal causes no call to Redis at all.
    expect(asked / (allowed / 1_000)).toBeLessThanOrEqual(10);
    await Promise.all(limiters.map((limiter) => limiter.close()));
  },
);

/**
 * Takes so many permits, evenly, `per_second` a second; returns how many were refused. After a pause of the process it
 * goes on at its rate, because a caller that makes up for the pause is not below the limit.
 */
async function trickle(
  limiter: RateLimiter,
  policy: RatePolicy,
  key: string,
  { per_second, permits }: { per_second: number; permits: number },
): Promise<number> {
  let refused = 0;
  let last_ms = Date.now();
  for (let due = 0, asked = 0; asked < permits; await sleep(1)) {
    const now_ms = Date.now();
    due = Math.min(permits, due + (Math.min(100, now_ms - last_ms) * per_second) / 1_000);
    last_ms = now_ms;
    for (; asked < due; asked++) if (!(await limiter.take(policy, key)).allowed) refused++;
  }
  return refused;
}

test('below the limit no call is refused and Redis is called rarely; a rush after it stays within 5 %', async () => {
  const limiters = [open(), open()];
  const key = randomUUID();
  const asked_before = await scriptsCalled();
  const each = { per_second: 400, permits: 1_600 };
  const refused = await Promise.all(limiters.map((limiter) => trickle(limiter, IDENTIFY, key, each)));
  expect(refused).toEqual([0, 0]);
  expect(((await scriptsCalled()) - asked_before) / 3.2).toBeLessThanOrEqual(10);
  const { allowed, most, fewest } = await rushOf(limiters, IDENTIFY, key, 6_000);
  expect(allowed).toBeGreaterThan(fewest);
  expect(allowed).toBeLessThan(most);
  await Promise.all(limiters.map((limiter) => limiter.close()));
});

test('permits that an idle process holds return to the bucket', async () => {
  const policy: RatePolicy = { name: 'idle', per_second: 0.001, burst: 1_000 };
  const key = randomUUID();
  const idle = open();
  expect((await idle.take(policy, key)).allowed).toBe(true);
  let allowed = 0;
  await until(async (saw) => {
    // A refused limiter calls the store again only after a pause, which is long here: a new limiter calls at once.
    const limiter = open();
    while (saw((await limiter.take(policy, key)).allowed)) allowed++;
    await limiter.close();
    return allowed === 999;
  });
  await idle.close();
});

const degraded = async () => (await metrics.rateLimiterDegraded.get()).values[0]?.value;

/** So slow that no permit is refilled during a test. */
const SLOW: RatePolicy = { name: 'slow', per_second: 0.001, burst: 100 };

/** Takes permits until one is refused, or `most` of them; returns how many were allowed. */
async function takeAll(limiter: RateLimiter, key: string, most = Infinity): Promise<number> {
  let allowed = 0;
  while (allowed < most && (await limiter.take(SLOW, key)).allowed) allowed++;
  return allowed;
}

test('an interruption of the connection refills no bucket', async () => {
  const { hostname, port } = new URL(redis.url);
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  const limiter = open(undefined, `redis://127.0.0.1:${proxy.port}`);
  const [drained, used] = [randomUUID(), randomUUID()];
  expect(await takeAll(limiter, drained)).toBe(100);
  expect(await takeAll(limiter, used, 40)).toBe(40);
  for (let flap = 0; flap < 3; flap++) {
    proxy.refuse();
    await until(async (saw) => {
      await limiter.take(SLOW, randomUUID());
      return saw(await degraded()) === 1;
    });
    expect(await takeAll(limiter, drained)).toBe(0);
    expect(await takeAll(limiter, used, 10)).toBe(10);
    proxy.restore();
    await until(async (saw) => saw(await degraded()) === 0);
    expect(await takeAll(limiter, drained)).toBe(0);
  }
  // Redis has not seen the permits that were spent meanwhile; the process that spent them has told it.
  expect(await takeAll(limiter, used)).toBe(30);
  const other = open();
  expect(await takeAll(other, used)).toBe(0);
  await Promise.all([limiter.close(), other.close()]);
  await proxy.close();
});

test('a Redis that lost its buckets refills none that a process has used', async () => {
  const limiter = open();
  const [drained, used] = [randomUUID(), randomUUID()];
  expect(await takeAll(limiter, drained)).toBe(100);
  expect(await takeAll(limiter, used, 60)).toBe(60);
  await redis.kill();
  await redis.restart();
  await until(async (saw) => {
    await limiter.take(SLOW, randomUUID());
    return saw(await degraded()) === 0;
  });
  expect(await takeAll(limiter, drained)).toBe(0);
  expect(await takeAll(limiter, used)).toBeLessThanOrEqual(40);
  await limiter.close();
});

test('a process that closes returns the permits that it holds, and those on their way to it', async () => {
  const key = randomUUID();
  const closing = open();
  const policy: RatePolicy = { ...SLOW, burst: 10_000 };
  expect((await closing.take(policy, key)).allowed).toBe(true);
  // Its block is spent, so that this one waits for the next.
  for (let i = 0; i < 99; i++) await closing.take(policy, key);
  const last = closing.take(policy, key);
  await closing.close();
  expect((await last).allowed).toBe(true);
  const other = open();
  await other.take(policy, key);
  const { remaining } = await other.take(policy, key);
  expect(remaining).toBe(10_000 - 103);
  await other.close();
});

test('processes share windows; while Redis is away each counts alone', async () => {
  const [one, other] = [open(), open()];
  const policy: RatePolicy = { ...SLOW, burst: 10 };
  /** How many of 16 requests are allowed. */
  const allowedOf16 = async (key: string) => {
    const verdicts = await Promise.all(
      [one, other].flatMap((l) => Array.from({ length: 8 }, async () => l.takeInWindow(policy, key))),
    );
    return verdicts.filter(({ allowed }) => allowed).length;
  };
  const key = randomUUID();
  expect(await allowedOf16(key)).toBe(10);
  expect(await allowedOf16(key)).toBe(0);
  const before = await scriptsCalled();
  expect(await allowedOf16(key)).toBe(0);
  expect(await scriptsCalled()).toBe(before);
  await redis.kill();
  expect(await allowedOf16(randomUUID())).toBe(16);
  expect(await degraded()).toBe(1);
  await redis.restart();
  await Promise.all([one.close(), other.close()]);
});

test('without Redis each process limits alone; when Redis is back, the limits are shared again', async () => {
  const policy: RatePolicy = { name: 'outage', per_second: 0.001, burst: 10 };
  const said: string[] = [];
  const limiter = open(pino({ level: 'info' }, { write: (line) => void said.push(line) }));
  expect((await limiter.take(policy, randomUUID())).allowed).toBe(true);
  expect(await degraded()).toBe(0);
  await redis.kill();
  const key = randomUUID();
  const verdicts = await Promise.all(Array.from({ length: 15 }, async () => limiter.take(policy, key)));
  expect(verdicts.filter((verdict) => verdict.allowed)).toHaveLength(10);
  expect(await degraded()).toBe(1);
  expect(said).toHaveLength(1);
  expect(JSON.parse(said[0] ?? '')).toMatchObject({
    level: 50,
    msg: expect.stringContaining('decided locally') as string,
  });
  await redis.restart();
  await until(async (saw) => saw(await degraded()) === 0);
  expect(said).toHaveLength(2);
  expect(said[1]).toContain('rate limits are shared');
  const shared = randomUUID();
  const other = open();
  const both = await Promise.all(
    [limiter, other].flatMap((l) => Array.from({ length: 8 }, async () => l.take(policy, shared))),
  );
  expect(both.filter((verdict) => verdict.allowed)).toHaveLength(10);
  await limiter.close();
  await other.close();
});
