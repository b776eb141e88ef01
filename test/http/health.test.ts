import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readConfig, type Role } from '../../src/config.ts';
import { encodeAccepted } from '../../src/ingest/events/envelope.ts';
import { buildHealthApp } from '../../src/app/health-app.ts';
import { Readiness } from '../../src/http/readiness.ts';
import { packageVersion } from '../../src/package-root.ts';
import { newId } from '../../src/platform/ids.ts';
import { startService, type Service } from '../../src/app/service.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { folded } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { openTestPlatform } from '../engines/wiring.ts';

let data_dir: string;
let platform: Platform;
let service: Service;
/** While it is set, the clock of the service stands still. */
let stopped_ms: number | undefined;
beforeAll(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'engagement-health-'));
  const config = readConfig({
    DATA_DIR: data_dir,
    PORT: '0',
    LOG_LEVEL: 'silent',
    BUILD_COMMIT: 'f84e879',
    ROLES: 'player-fold,analytics-sink',
  });
  platform = { ...(await openTestPlatform(config)), clock: { now_ms: () => stopped_ms ?? Date.now() } };
  service = await startService(config, platform);
});
afterAll(async () => {
  await service?.close();
  await rm(data_dir, { recursive: true, force: true });
});

const get = (path: string) => fetch(service.ops_url + path);

/** The answer of a ready process. One engine that takes longer than 3 s, on a busy machine, makes an answer 503. */
const becomesReady = () =>
  until('it is ready', async (saw) => {
    const answer = saw(await get('/readyz'));
    return answer.ok ? answer : undefined;
  });

async function metric(name: string, group: string): Promise<number[]> {
  const lines = (await (await get('/metrics')).text()).split('\n');
  const found = lines.filter((line) => line.startsWith(`${name}{`) && line.includes(`group="${group}"`));
  return found.map((line) => Number(line.split(' ').at(-1)));
}

it('a process without the API host serves health, readiness and metrics on its port, and nothing else', async () => {
  expect([service.base_url, service.ingest_url]).toEqual([undefined, undefined]);
  const health = await get('/healthz');
  expect([health.status, await health.json()]).toEqual([200, { data: { status: 'ok' } }]);
  const ready = await becomesReady();
  expect(await ready.json()).toEqual({ data: { postgres: 'ok', clickhouse: 'ok', event_log: 'ok' } });
  const metrics = await get('/metrics');
  expect(metrics.headers.get('content-type')).toContain('text/plain');
  expect(await metrics.text()).toContain(`build_info{version="${packageVersion}",commit="f84e879"} 1`);
  const other = await get('/v1/players');
  expect([other.status, await other.json()]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }]);
});

it('is not ready before the service has started', async () => {
  const app = buildHealthApp(platform, new Readiness(platform, new Set(['player-fold'])));
  const ready = await app.inject('/readyz');
  expect(ready.statusCode).toBe(503);
  expect(ready.json()).toMatchObject({
    error: { code: 'SERVICE_UNAVAILABLE', details: { service: 'starting' } },
  });
  expect((await app.inject('/healthz')).statusCode).toBe(200);
});

it('is not ready while an engine is down', async () => {
  const { eventLog } = platform;
  const ping = eventLog.ping.bind(eventLog);
  eventLog.ping = () => Promise.reject(new Error('away'));
  // An answer may be a second old.
  const ready = await until('it notices, and Postgres answers', async (saw) => {
    const answer = saw(await get('/readyz'));
    const { error } = saw((await answer.json()) as { error?: { details: Record<string, string> } });
    return error?.details['postgres'] === 'ok' ? { answer, error } : undefined;
  });
  eventLog.ping = ping;
  expect(ready.answer.status).toBe(503);
  expect(Number(ready.answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(ready.error.details).toMatchObject({ event_log: 'failed' });
  await becomesReady();
});

it('asks the engines once for all who probe at the same time or within a second', async () => {
  const { eventLog } = platform;
  let asked = 0;
  const counting = { ping: async () => void asked++ };
  const readiness = new Readiness(
    { ...platform, eventLog: Object.assign(Object.create(eventLog), counting) as typeof eventLog },
    new Set(['intake']),
  );
  readiness.started();
  const app = buildHealthApp(platform, readiness);
  let now_ms = performance.timeOrigin;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now_ms);
  try {
    const first = await Promise.all(Array.from({ length: 20 }, () => app.inject('/readyz')));
    expect(first.map(({ statusCode }) => statusCode)).toEqual(first.map(() => 200));
    now_ms += 999;
    expect((await app.inject('/readyz')).statusCode).toBe(200);
    expect(asked).toBe(1);
    now_ms += 1;
    expect((await app.inject('/readyz')).statusCode).toBe(200);
    expect(asked).toBe(2);
  } finally {
    clock.mockRestore();
  }
});

it.each<[Role, string[]]>([
  ['intake', ['event_log']],
  ['player-fold', ['postgres', 'event_log']],
  ['messenger', ['postgres', 'event_log']],
  ['fx-restater', ['postgres']],
  ['webhook-deliverer', ['postgres']],
  ['bonus-sender', ['postgres', 'event_log']],
  ['scheduler', ['postgres', 'clickhouse']],
  ['api', ['postgres', 'clickhouse', 'event_log']],
])('the role %s is ready when %j answer', async (role, needed) => {
  const away = { ping: () => Promise.reject(new Error('away')) };
  const pingOf = <E extends object>(name: string, engine: E): E =>
    needed.includes(name) ? engine : (Object.assign(Object.create(engine) as E, away) as E);
  const readiness = new Readiness(
    {
      logger: platform.logger,
      postgres: pingOf('postgres', platform.postgres),
      clickhouse: pingOf('clickhouse', platform.clickhouse),
      eventLog: pingOf('event_log', platform.eventLog),
    },
    new Set([role]),
  );
  readiness.started();
  const answers = await until('the engines answer in time', () => readiness.check().catch(() => undefined));
  expect(answers).toEqual(Object.fromEntries(needed.map((name) => [name, 'ok'])));
});

/** A record of the log whose event was accepted this long ago. */
function acceptedAgo(age_ms: number): string {
  const received_at_ms = platform.clock.now_ms() - age_ms;
  const stamp = { ingestion_id: newId(), tenant_id: newId(), project_id: newId(), environment: 'dev' };
  const event = { event: 'login', anonymous_id: 'a', properties: { received_at: 1 } };
  return encodeAccepted({ ...stamp, received_at_ms }, 0, JSON.stringify(event));
}

it('reports how long the oldest waiting event has waited while a consumer is stuck', async () => {
  const { eventLog } = platform;
  const append = eventLog.append.bind(eventLog);
  eventLog.append = () => Promise.reject(new Error('away'));
  stopped_ms = Date.now();
  const [key, value] = ['a', acceptedAgo(60_000)];
  await append('events', [{ key, value }]);
  await until('the fold has the event in hand', async (saw) => {
    const [age_s] = saw(await metric('consumer_lag_seconds', 'player-fold'));
    return age_s === 60 ? true : undefined;
  });
  stopped_ms += 5_000;
  expect(await metric('consumer_lag_seconds', 'player-fold')).toEqual([65]);
  stopped_ms = undefined;
  eventLog.append = append;
  await folded(platform);
  expect(await metric('consumer_lag_seconds', 'player-fold')).toEqual([0]);
});

it('reports the lag of its consumers in records', async () => {
  const partitions = (await platform.eventLog.endOffsets('events')).size;
  const none = Array.from({ length: partitions }, () => 0);
  expect(await metric('consumer_lag_events', 'player-fold')).toEqual(none);
  expect(await metric('consumer_lag_events', 'analytics-sink')).toEqual(none);
  const { eventLog } = platform;
  const lag = eventLog.lag.bind(eventLog);
  eventLog.lag = (topic, group) =>
    topic === 'events'
      ? Promise.resolve([{ partition: 0, next_offset: 5n, end_offset: 12n }])
      : lag(topic, group);
  expect(await metric('consumer_lag_events', 'player-fold')).toEqual([7]);
  eventLog.lag = lag;
});

it('reports its other metrics when the log does not answer, and leaves out the lag', async () => {
  const { eventLog } = platform;
  const lag = eventLog.lag.bind(eventLog);
  const asked: string[] = [];
  eventLog.lag = (topic, group) => {
    // The consumers ask for their positions, too.
    if (new Error().stack?.includes('stored-offsets') === true) return lag(topic, group);
    asked.push(group);
    return topic === 'events' ? new Promise(() => undefined) : Promise.reject(new Error('away'));
  };
  expect(await metric('consumer_lag_events', 'player-fold')).toEqual([]);
  // Each consumer has its time once in a scrape.
  expect(asked.toSorted()).toEqual(['analytics-sink', 'player-fold']);
  expect(await metric('consumer_lag_events', 'analytics-sink')).toEqual([]);
  expect(await metric('consumer_lag_seconds', 'player-fold')).toEqual([]);
  eventLog.lag = lag;
});
