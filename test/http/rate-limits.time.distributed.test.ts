import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis, type RedisEngine } from '../engines/redis.ts';
import { openFixture, type Fixture, type Tenant } from './api-fixture.ts';

const REQUESTS = 3_000;
const CONNECTIONS = 8;

let fixture: Fixture;
let tenant: Tenant;
/** A Redis of its own, because the test counts its commands. */
let engine: RedisEngine;
let redis: Redis;

beforeAll(async () => {
  engine = await startRedis();
  redis = new Redis(engine.url);
  fixture = await openFixture({}, { redis_url: engine.url });
  tenant = await fixture.makeTenant();
});
afterAll(async () => {
  redis?.disconnect();
  await fixture?.close();
  await engine?.stop();
});

/** The number of calls of the limiter's script, without the commands inside the script. */
async function leasesAsked(): Promise<number> {
  const stats = await redis.info('commandstats');
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}

test('a thousand identify requests call Redis at most ten times', async () => {
  const statuses = new Map<number, number>();
  const before = await leasesAsked();
  const started_ms = Date.now();
  let sent = 0;
  const sender = async () => {
    while (sent < REQUESTS) {
      const body = { external_id: `player-${sent++ % 10}` };
      const { status } = await fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', body });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sender));
  const asked = (await leasesAsked()) - before;
  expect(asked).toBeGreaterThan(0);
  // A lease of permits lasts at most a second, so on a slow machine, with few requests a second, that limits the calls.
  const seconds = (Date.now() - started_ms) / 1_000;
  expect(asked).toBeLessThanOrEqual(Math.max((10 * REQUESTS) / 1_000, 2 * seconds));
  expect([...statuses.keys()].filter((status) => ![200, 429].includes(status))).toEqual([]);
  expect(statuses.get(200)).toBeGreaterThan(1_000);
});
