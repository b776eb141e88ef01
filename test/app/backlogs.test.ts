import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { mirrorBlock } from '../../processors/player-mirror/index.ts';
import { restateOnce } from '../../processors/fx-restater/index.ts';
import { exposeWaiting, type ScrapeLimits } from '../../src/app/backlogs.ts';
import { ROLES, type Role } from '../../src/config.ts';
import { ThresholdCache } from '../../src/ledger/tier-thresholds/threshold-cache.ts';
import { foldBatch } from '../../src/ledger/fold/fold-batch.ts';
import { RecordAges } from '../../src/platform/event-log/record-ages.ts';
import { newId } from '../../src/platform/ids.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { HorizonWatch } from '../../src/platform/postgres/horizon.ts';
import { until } from '../engines/until.ts';
import { openFixture, type Fixture, type Tenant } from '../http/api-fixture.ts';
import { batchOf } from '../ledger/fold/fold-fixture.ts';

// No processor runs: what is queued stays until a test takes a step of its consumer.

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await openFixture({}, { own_postgres: true });
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  tenant = await fixture.makeTenant();
});

type Reading = Record<string, { items: number; age_s: number }>;

/** So long that on a busy machine no queue is left out. */
const PATIENT = { query_ms: 30_000, source_ms: 30_000, total_ms: 60_000 };

/** A reader of the gauges of a process with these roles. */
function watch(roles: readonly Role[] = ROLES, limits?: ScrapeLimits): () => Promise<Reading> {
  const metrics = createMetrics();
  const platform = { ...fixture.platform, metrics };
  const { clock } = platform;
  exposeWaiting(
    platform,
    new RecordAges({ clock, receivedAt: () => undefined }),
    new Set(roles),
    limits ?? PATIENT,
  );
  return async () => {
    const values = async (name: string) =>
      new Map(
        (await metrics.registry.getSingleMetric(name)?.get())?.values.map((one) => [
          one.labels['queue'],
          one.value,
        ]),
      );
    const [items, ages] = await Promise.all([values('backlog_items'), values('backlog_age_seconds')]);
    return Object.fromEntries(
      [...items].map(([queue, count]) => [String(queue), { items: count, age_s: ages.get(queue) ?? -1 }]),
    );
  };
}

const identify = (external_id: string) =>
  fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', body: { external_id } });

it('every role reports its own queues', async () => {
  expect(Object.keys(await watch()()).sort()).toEqual(
    [
      'analytics-sink',
      'bonus-wagering',
      'campaign-trigger',
      'dirty-players',
      'event-rewriter',
      'fan-out',
      'fx-restater',
      'insight-notices',
      'journey-matcher',
      'journey-mirror',
      'kyc-calls',
      'kyc-calls-late',
      'kyc-events',
      'message-events',
      'messages',
      'pending-conversions',
      'player-fold',
      'player-mirror',
      'segment-changes',
      'send-mirror',
      'subscription-facts',
      'vip-tiers',
      'webhooks',
      'bonus-calls',
      'bonus-events',
    ].sort(),
  );
  expect(Object.keys(await watch(['messenger'])()).sort()).toEqual([
    'campaign-trigger',
    'fan-out',
    'messages',
  ]);
  expect(Object.keys(await watch(['scheduler'])()).sort()).toEqual(['insight-notices', 'vip-tiers']);
  expect(await watch(['api', 'intake'])()).toEqual({});
});

it('the oldest erasure that is confirmed and not done has an age', async () => {
  const metrics = createMetrics();
  const platform = { ...fixture.platform, metrics };
  const { clock } = platform;
  const ages = new RecordAges({ clock, receivedAt: () => undefined });
  exposeWaiting(platform, ages, new Set<Role>(['scheduler']), PATIENT);
  const age_s = async () =>
    (await metrics.registry.getSingleMetric('erasure_oldest_open_seconds')?.get())?.values[0]?.value;
  expect(await age_s()).toBe(0);
  const sql = platform.postgres.service;
  const { tenant_id, project_id } = tenant;
  const add = (status: string, age: number) => {
    const since = new Date(clock.now_ms() - age * 1_000);
    const [confirmed_at, completed_at] = [
      status === 'requested' ? null : since,
      status === 'done' ? since : null,
    ];
    return sql`
      insert into erasures (tenant_id, erasure_id, project_id, player_id, status, reason, basis, requested_by, requested_at,
        token_hash, confirm_before, confirmed_by, confirmed_at, completed_at)
      values (${tenant_id}, ${newId()}, ${project_id}, ${newId()}, ${status}, 'asked', 'GDPR', 'u', ${since},
        ${confirmed_at === null ? Buffer.alloc(32) : null}, ${since}, ${confirmed_at && 'u'}, ${confirmed_at},
        ${completed_at})`;
  };
  await add('requested', 9_000);
  await add('done', 8_000);
  expect(await age_s()).toBe(0);
  await add('running', 100);
  await add('running', 5_000);
  const oldest_s = await age_s();
  expect(oldest_s).toBeGreaterThanOrEqual(5_000);
  expect(oldest_s).toBeLessThan(8_000);
});

it('changed players wait for the mirror', async () => {
  const read = watch(['player-mirror']);
  while ((await mirrorBlock(fixture.platform)) > 0);
  await until(async (saw) => saw((await read())['player-mirror']?.items) === 0);
  expect(await read()).toMatchObject({
    'player-mirror': { items: 0, age_s: 0 },
    'send-mirror': { items: 0 },
    'journey-mirror': { items: 0 },
  });
  await identify('one');
  await identify('two');
  const waiting = (await read())['player-mirror'];
  expect(waiting?.items).toBe(2);
  expect(waiting?.age_s).toBeLessThan(60);
  await until(async (saw) => (saw((await read())['player-mirror']?.age_s) ?? 0) > (waiting?.age_s ?? 0));
  await until(async (saw) => saw(await mirrorBlock(fixture.platform)) > 0);
  expect((await read())['player-mirror']).toEqual({ items: 0, age_s: 0 });
});

it('amounts without a rate, changed rates and restated events wait one after the other', async () => {
  const { postgres, clock, logger, metrics } = fixture.platform;
  const sql = postgres.service;
  const read = watch(['fx-restater', 'event-rewriter']);
  const thresholds = new ThresholdCache({ sql, clock });
  const caches = { positions: new Map(), base_currencies: new Map(), thresholds };
  const stores = { sql, clock, logger, metrics, newId, ...caches };
  const properties = { amount: 100, currency: 'SEK', transaction_id: 't', payment_method: 'card' };
  const deposit = { event: 'deposit_confirmed', anonymous_id: 'a', properties };
  await foldBatch(stores, batchOf(tenant, [deposit], { topic: tenant.tenant_id }));
  const pending = await read();
  expect(pending).toMatchObject({
    'pending-conversions': { items: 1 },
    'fx-restater': { items: 0, age_s: 0 },
  });
  expect(pending['pending-conversions']?.age_s).toBeGreaterThan(0);
  expect(pending['pending-conversions']?.age_s).toBeLessThan(60);
  await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate)
    values (${tenant.tenant_id}, 'SEK', 'EUR', '2020-01-01', 0.1)`;
  expect((await read())['fx-restater']?.items).toBe(1);
  await restateOnce(fixture.platform);
  expect(await read()).toMatchObject({
    'pending-conversions': { items: 0, age_s: 0 },
    'fx-restater': { items: 0, age_s: 0 },
    'event-rewriter': { items: 1 },
  });
});

it('mirrors and amounts without a rate have metrics of their own, from the same reading', async () => {
  const metrics = createMetrics();
  const platform = { ...fixture.platform, metrics };
  const ages = new RecordAges({ clock: platform.clock, receivedAt: () => undefined });
  exposeWaiting(platform, ages, new Set<Role>(['player-mirror', 'fx-restater']), PATIENT);
  await identify('of a mirror');
  const text = await metrics.registry.metrics();
  const valueOf = (start: string) =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${start} `))
      ?.slice(start.length);
  const mirrors = [...text.matchAll(/^mirror_lag_seconds\{mirror="(.+)"\}/gm)].map(
    ([, mirror = '']) => mirror,
  );
  expect(mirrors.toSorted()).toEqual(['journey-mirror', 'player-mirror', 'send-mirror']);
  for (const mirror of mirrors)
    expect(valueOf(`mirror_lag_seconds{mirror="${mirror}"}`)).toBe(
      valueOf(`backlog_age_seconds{queue="${mirror}"}`),
    );
  expect(valueOf('pending_conversions')).toMatch(/ \d+/);
  expect(valueOf('pending_conversions')).toBe(valueOf('backlog_items{queue="pending-conversions"}'));
  const other = createMetrics();
  exposeWaiting({ ...platform, metrics: other }, ages, new Set<Role>(['messenger']), PATIENT);
  expect(await other.registry.metrics()).not.toMatch(/mirror_lag_seconds|pending_conversions/);
});

it('queues of segments and messages have a length and an age', async () => {
  const sql = fixture.platform.postgres.service;
  const { tenant_id, project_id } = tenant;
  const minute_ago = new Date(Date.now() - 60_000);
  const [campaign_id, player_id] = [newId(), newId()];
  await sql`insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
    values (${tenant_id}, ${project_id}, ${newId()}, true, array[${player_id}::uuid], ${minute_ago})`;
  await sql`insert into dirty_players (tenant_id, project_id, reads, player_ids, marked_at)
    values (${tenant_id}, ${project_id}, '{*}', array[${player_id}::uuid], ${minute_ago})`;
  await sql`insert into campaigns (tenant_id, project_id, campaign_id, name, channel, type, status, started_at, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${campaign_id}, 'c', 'email', 'broadcast', 'sending', ${minute_ago}, ${minute_ago}, ${minute_ago})`;
  await sql`insert into member_ranges (work, tenant_id, project_id, owner_id, occasion, from_player_id)
    values ('campaign', ${tenant_id}, ${project_id}, ${campaign_id}, '', ${player_id})`;
  await sql`insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, status, enqueued_at)
    values (${tenant_id}, ${project_id}, ${newId()}, ${campaign_id}, ${player_id}, 'email', 'queued', ${minute_ago})`;
  const reading = await watch(['segment-refresh', 'messenger'])();
  for (const queue of ['segment-changes', 'dirty-players', 'fan-out', 'messages']) {
    expect([queue, reading[queue]?.items]).toEqual([queue, 1]);
    expect(reading[queue]?.age_s).toBeGreaterThanOrEqual(60);
    expect(reading[queue]?.age_s).toBeLessThan(120);
  }
});

it('a queue whose table is locked is left out while the lock lasts, and the others are reported', async () => {
  // A busy machine may leave out other queues in some readings, too.
  const read = watch(['player-mirror', 'fx-restater'], { query_ms: 500, source_ms: 1_000, total_ms: 4_000 });
  await fixture.platform.postgres.service.begin(async (tx) => {
    await tx`lock table player_changes in access exclusive mode`;
    await until(async (saw) => {
      const queues = Object.keys(saw(await read()));
      expect(queues).not.toContain('player-mirror');
      return (
        queues.sort().join() === 'fx-restater,journey-mirror,message-events,pending-conversions,send-mirror'
      );
    });
  });
  await until(async (saw) => saw((await read())['player-mirror']) !== undefined);
});

/** A logger, and the lines that it wrote. */
function recorder() {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({}, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  return { logger, lines };
}

it('the age of the oldest transaction is measured, and its session named without its query', async () => {
  const sql = fixture.platform.postgres.service;
  const { logger, lines } = recorder();
  const gauge = createMetrics().horizonAge;
  const horizon = new HorizonWatch({ sql, logger, gauge, warn_after_ms: 300 });
  const age_s = async () => {
    await horizon.look();
    return (await gauge.get()).values[0]?.value ?? -1;
  };
  await sql.begin(async (tx) => {
    const [row] = await tx<
      { pid: number }[]
    >`select pg_backend_pid() as pid, pg_current_xact_id()::text, 'secret'`;
    await until(async (saw) => saw(await age_s()) > 0.3);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 40,
      holder: 'session',
      pid: row?.pid,
      application_name: 'engagement engagement_service',
      state: 'idle in transaction',
    });
    expect(JSON.stringify(lines)).not.toContain('secret');
    // The same holder is not named at every look.
    await age_s();
    expect(lines).toHaveLength(1);
  });
  await until(async (saw) => saw(await age_s()) < 0.3);
});

it('fx-restater says what it waits for', async () => {
  const { logger, lines } = recorder();
  const sql = fixture.platform.postgres.service;
  await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate)
    values (${tenant.tenant_id}, 'SEK', 'EUR', '2020-01-01', 0.1)`;
  let restating: Promise<number> | undefined;
  await sql.begin(async (tx) => {
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid, pg_current_xact_id()::text`;
    restating = restateOnce({ ...fixture.platform, logger }, undefined, 50);
    await until((saw) => saw(lines.length) > 0);
    expect(lines[0]).toMatchObject({ holder: 'session', pid: row?.pid, changes: 1 });
  });
  expect(await restating).toBe(1);
});
