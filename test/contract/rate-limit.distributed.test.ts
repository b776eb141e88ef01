import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import type { RateLimiter, RatePolicy } from '../../src/platform/rate-limit/port.ts';
import { createRedisRateLimiter } from '../../src/platform/rate-limit/redis.ts';
import { startRedis, type RedisEngine } from '../engines/redis.ts';
import { rateLimitContract } from './rate-limit.contract.ts';
import { until } from '../engines/until.ts';

const INGEST: RatePolicy = { name: 'ingest', per_second: 10_000, burst: 50_000 };
const IDENTIFY: RatePolicy = { name: 'identify', per_second: 1_000, burst: 1_000 };

let redis: RedisEngine;
const metrics = createMetrics();
const open = (logger = createLogger('silent')): RateLimiter =>
  createRedisRateLimiter({ redis_url: redis.url, clock: systemClock, logger, metrics });

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

test('without Redis each process limits alone; when Redis is back, the limits are shared again', async () => {
  const policy: RatePolicy = { name: 'outage', per_second: 0.001, burst: 10 };
  const said: string[] = [];
  const limiter = open(pino({ level: 'info' }, { write: (line) => void said.push(line) }));
  const degraded = async () => (await metrics.rateLimiterDegraded.get()).values[0]?.value;
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
