import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import type { RateLimiter, RatePolicy } from '../../src/platform/rate-limit/port.ts';
import { createRedisRateLimiter } from '../../src/platform/rate-limit/redis.ts';
import { startRedis, type RedisEngine } from '../engines/redis.ts';
import { rateLimitContract } from './rate-limit.contract.ts';
import { until } from './until.ts';

const INGEST: RatePolicy = { name: 'ingest', per_second: 10_000, burst: 50_000 };

let redis: RedisEngine;
const metrics = createMetrics();
const open = (): RateLimiter =>
  createRedisRateLimiter({
    redis_url: redis.url,
    clock: systemClock,
    logger: createLogger('silent'),
    metrics,
  });

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

/** Asks as fast as it can until `end_ms`; returns the permits got and the questions asked. */
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

test('two processes together stay within 5 % of the limit, and ask Redis rarely', async () => {
  const limiters = [open(), open()];
  const key = randomUUID();
  const asked_before = await leasesAsked();
  const start_ms = Date.now();
  const results = await Promise.all(limiters.map((limiter) => flood(limiter, INGEST, key, start_ms + 4_000)));
  const seconds = (Date.now() - start_ms) / 1_000;
  const allowed = results.reduce((sum, result) => sum + result.allowed, 0);
  const limit = INGEST.burst + INGEST.per_second * seconds;
  expect(allowed).toBeGreaterThan(limit * 0.95);
  expect(allowed).toBeLessThan(limit * 1.05);
  const asked = (await leasesAsked()) - asked_before;
  // Against the permits given: those refused cost Redis nothing at all.
  expect(asked / (allowed / 1_000)).toBeLessThanOrEqual(10);
  await Promise.all(limiters.map((limiter) => limiter.close()));
});

test('what an idle process holds comes back', async () => {
  const policy: RatePolicy = { name: 'idle', per_second: 0.001, burst: 1_000 };
  const key = randomUUID();
  const idle = open();
  expect((await idle.take(policy, key)).allowed).toBe(true);
  let allowed = 0;
  await until(async () => {
    // The store is asked again only when the pause it gave is over, which is long here: a new process asks.
    const limiter = open();
    while ((await limiter.take(policy, key)).allowed) allowed++;
    await limiter.close();
    return allowed === 999;
  });
  await idle.close();
});

test('without Redis limits are local; with it they are shared again', async () => {
  const policy: RatePolicy = { name: 'outage', per_second: 0.001, burst: 10 };
  const limiter = open();
  const degraded = async () => (await metrics.rateLimiterDegraded.get()).values[0]?.value;
  expect((await limiter.take(policy, randomUUID())).allowed).toBe(true);
  expect(await degraded()).toBe(0);
  await redis.kill();
  const key = randomUUID();
  const verdicts = await Promise.all(Array.from({ length: 15 }, async () => limiter.take(policy, key)));
  expect(verdicts.filter((verdict) => verdict.allowed)).toHaveLength(10);
  expect(await degraded()).toBe(1);
  await redis.restart();
  await until(async () => (await degraded()) === 0);
  const shared = randomUUID();
  const other = open();
  const both = await Promise.all(
    [limiter, other].flatMap((l) => Array.from({ length: 8 }, async () => l.take(policy, shared))),
  );
  expect(both.filter((verdict) => verdict.allowed)).toHaveLength(10);
  await limiter.close();
  await other.close();
});
