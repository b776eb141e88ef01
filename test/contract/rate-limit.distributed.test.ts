import { randomUUID } from 'node:crypto';
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
  createRedisRateLimiter({ redis_url, clock: systemClock, logger, metrics });

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => redis?.stop());

rateLimitContract('on Redis', async () => ({ open, stop: () => Promise.resolve() }));

async function leasesAsked(): Promise<number> {
  const client = new Redis(redis.url);
  const stats = await client.info('commandstats');
  client.disconnect();
  const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].map((match) => Number(match[1]));
  return calls.reduce((sum, count) => sum + count, 0);
}

/** Takes permits as fast as possible until `end_ms`; returns the number of permits and of calls. */
async function flood(limiter: RateLimiter, policy: RatePolicy, key: string, end_ms: number) {
  const result = { allowed: 0, asked: 0 };
  while (Date.now() < end_ms) {
    for (let i = 0; i < 50; i++) {
      const verdict = limiter.take(policy, key);
      if ((verdict instanceof Promise ? await verdict : verdict).allowed) result.allowed++;
      result.asked++;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return result;
}

test.each([INGEST, IDENTIFY])(
  'two processes together stay within 5 % of the limit of $name, and call Redis rarely',
  async (policy) => {
    const limiters = [open(), open()];
    const key = randomUUID();
    const asked_before = await leasesAsked();
    const start_ms = Date.now();
    const results = await Promise.all(
      limiters.map((limiter) => flood(limiter, policy, key, start_ms + 5_000)),
    );
    const seconds = (Date.now() - start_ms) / 1_000;
    const allowed = results.reduce((sum, result) => sum + result.allowed, 0);
    const limit = policy.burst + policy.per_second * seconds;
    expect(allowed).toBeGreaterThan(limit * 0.95);
    expect(allowed).toBeLessThan(limit * 1.05);
    const asked = (await leasesAsked()) - asked_before;
    // Measured against the permits: a refusal causes no call to Redis at all.
    expect(asked / (allowed / 1_000)).toBeLessThanOrEqual(10);
    await Promise.all(limiters.map((limiter) => limiter.close()));
  },
);

/** Takes `per_second` permits a second until `end_ms`, evenly; returns how many calls were allowed and refused. */
async function trickle(
  limiter: RateLimiter,
  policy: RatePolicy,
  key: string,
  per_second: number,
  end_ms: number,
) {
  const start_ms = Date.now();
  const result = { allowed: 0, refused: 0 };
  for (let now_ms = start_ms; now_ms < end_ms; now_ms = Date.now()) {
    for (; result.allowed + result.refused < ((now_ms - start_ms) * per_second) / 1_000;) {
      if ((await limiter.take(policy, key)).allowed) result.allowed++;
      else result.refused++;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return result;
}

test('below the limit no call is refused and Redis is called rarely; a rush after it stays within 5 %', async () => {
  const limiters = [open(), open()];
  const key = randomUUID();
  const asked_before = await leasesAsked();
  const start_ms = Date.now();
  const trickles = await Promise.all(
    limiters.map((limiter) => trickle(limiter, IDENTIFY, key, 400, start_ms + 4_000)),
  );
  expect(trickles.map(({ refused }) => refused)).toEqual([0, 0]);
  const before = trickles.reduce((sum, { allowed }) => sum + allowed, 0);
  expect(before).toBeGreaterThan(2_500);
  expect(((await leasesAsked()) - asked_before) / (before / 1_000)).toBeLessThanOrEqual(10);
  const rush_ms = Date.now();
  const rush = await Promise.all(limiters.map((limiter) => flood(limiter, IDENTIFY, key, rush_ms + 6_000)));
  const allowed = rush.reduce((sum, result) => sum + result.allowed, 0);
  const limit = IDENTIFY.burst + (IDENTIFY.per_second * (Date.now() - rush_ms)) / 1_000;
  expect(allowed).toBeGreaterThan(limit * 0.95);
  expect(allowed).toBeLessThan(limit * 1.05);
  await Promise.all(limiters.map((limiter) => limiter.close()));
});

test('permits that an idle process holds return to the bucket', async () => {
  const policy: RatePolicy = { name: 'idle', per_second: 0.001, burst: 1_000 };
  const key = randomUUID();
  const idle = open();
  expect((await idle.take(policy, key)).allowed).toBe(true);
  let allowed = 0;
  await until(async () => {
    // A refused limiter calls the store again only after a pause, which is long here: a new limiter calls at once.
    const limiter = open();
    while ((await limiter.take(policy, key)).allowed) allowed++;
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
    await until(async () => {
      await limiter.take(SLOW, randomUUID());
      return (await degraded()) === 1;
    });
    expect(await takeAll(limiter, drained)).toBe(0);
    expect(await takeAll(limiter, used, 10)).toBe(10);
    proxy.restore();
    await until(async () => (await degraded()) === 0);
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
  await until(async () => {
    await limiter.take(SLOW, randomUUID());
    return (await degraded()) === 0;
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
  await until(async () => (await degraded()) === 0);
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
