import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startAnalyticsSink } from '../../../processors/analytics-sink/index.ts';
import {
  newRewriteState,
  rewriteOnce,
  startEventRewriter,
} from '../../../processors/event-rewriter/index.ts';
import { ROLES, type Role } from '../../../src/config.ts';
import { StatementTimedOut, type ClickHouse } from '../../../src/platform/clickhouse/port.ts';
import type { RunSession, Tx } from '../../../src/platform/postgres/port.ts';
import type { LogConsumer } from '../../../src/platform/event-log/port.ts';
import { call } from '../../engines/http-client.ts';
import { folded, startTestService, sunk, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { openTestPlatform } from '../../engines/wiring.ts';

const HOUR_MS = 3_600_000;

let service: TestService;
let sink: LogConsumer;
let tenant: TestTenant;
beforeAll(async () => {
  // The tests call the rewriter directly, and some of them stop the sink.
  const byHand = new Set<Role>(['event-rewriter', 'analytics-sink']);
  service = await startTestService(
    { roles: new Set(ROLES.filter((role) => !byHand.has(role))) },
    // `isRewriting` reads advisory locks, which belong to a whole server.
    (config) => openTestPlatform(config, { own_postgres: true }),
  );
  sink = await startAnalyticsSink(service.platform);
});
afterAll(async () => {
  await sink.close();
  await service.close();
});
beforeEach(async () => {
  tenant = await service.newTenant();
});

interface Sent {
  event: string;
  anonymous_id: string;
  timestamp: string;
  properties: Record<string, unknown>;
}

function deposit(transaction_id: string, amount: number, currency: string, timestamp: string): Sent {
  const properties = { amount, currency, transaction_id, payment_method: 'card', note: 'é "\\ 😀' };
  return { event: 'deposit_confirmed', anonymous_id: 'a', timestamp, properties };
}

/** Sends the events and resolves when they are in ClickHouse. */
async function send(events: readonly Sent[]): Promise<void> {
  await post(events);
  await sunk(service.platform);
}

async function post(events: readonly Sent[]): Promise<void> {
  for (let next = 0; next < events.length; next += 100) {
    const part = events.slice(next, next + 100);
    const response = await call(`${service.ingest_url}/v1/events/batch`, tenant.api_key, {
      body: { events: part },
    });
    expect(response.body).toMatchObject({ data: { accepted: part.length } });
  }
}

/** Sets the rate of the Swedish krona from 1900 on, and waits until the ledger is restated. */
async function setRate(rate: string): Promise<void> {
  const { service: sql } = service.platform.postgres;
  await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate)
    values (${tenant.tenant_id}, 'SEK', 'EUR', '1900-01-01 00:00+00', ${rate})
    on conflict (tenant_id, base, quote, ts) do update set rate = excluded.rate`;
  await restated();
}

async function restated(): Promise<void> {
  await until('the ledger is restated', async (saw) => {
    const { service: sql } = service.platform.postgres;
    const rows = saw(await sql`select from fx_rate_changes where tenant_id = ${tenant.tenant_id}`);
    return rows.length === 0;
  });
}

interface Event {
  id: string;
  at_ms: string;
  received_ms: string;
  player_id: string;
  base_amount: string | null;
  base_payout: string | null;
  properties: string;
}

/** The events as queries return them. Both tables must agree and have each event once. */
async function eventsInClickHouse(): Promise<Event[]> {
  const read = (table: string) =>
    service.platform.clickhouse.query<Event>(
      `select if(JSONHas(properties, 'bet_id'), JSONExtractString(properties, 'bet_id') || ' ' || event,
          JSONExtractString(properties, 'transaction_id')) as id,
        toUnixTimestamp64Milli(occurred_at) as at_ms, toUnixTimestamp64Milli(received_at) as received_ms,
        player_id, base_amount, base_payout, properties
      from ${table} final where tenant_id = {tenant_id:UUID} order by id`,
      { tenant_id: tenant.tenant_id },
    );
  const [events, by_player] = await Promise.all([read('events'), read('events_by_player')]);
  expect(by_player).toEqual(events);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  return events;
}

async function rewriteAll(): Promise<void> {
  while (await rewriteOnce(service.platform));
  const { service: sql } = service.platform.postgres;
  expect(await sql`select from event_corrections`).toHaveLength(0);
}

const bet = (event: string, timestamp: string, properties: Record<string, unknown>): Sent => ({
  event,
  anonymous_id: 'a',
  timestamp,
  properties: { bet_id: 'b', currency: 'SEK', ...properties },
});

it('gives corrected events their new amounts and changes nothing else of them', async () => {
  const game = { game_id: 'g', game_category: 'slots' };
  const now = new Date().toISOString();
  await send([
    deposit('sek', 1_000, 'SEK', now),
    deposit('eur', 1_000, 'EUR', now),
    deposit('usd', 1_000, 'USD', now),
    bet('bet_placed', now, { amount: 300, ...game }),
    bet('bet_settled', now, { amount: 300, payout: 50, outcome: 'won', ...game }),
  ]);
  const before = await eventsInClickHouse();
  expect(before.map(({ base_amount }) => base_amount)).toEqual([null, null, '1000', null, null]);
  for (const [rate, sek, stake, payout] of [
    ['0.1', '100', '30', '5'],
    ['0.3', '300', '90', '15'],
  ]) {
    await setRate(rate ?? '');
    await rewriteAll();
    const amounts = [stake, stake, '1000', sek, null];
    const payouts = [null, payout, null, null, null];
    expect(await eventsInClickHouse()).toEqual(
      before.map((event, i) => ({ ...event, base_amount: amounts[i], base_payout: payouts[i] })),
    );
  }
  // Deleting the rate removes the amounts again.
  await service.platform.postgres.service`delete from fx_rates where tenant_id = ${tenant.tenant_id}`;
  await restated();
  await rewriteAll();
  expect(await eventsInClickHouse()).toEqual(before);
});

it('keeps the time of events in the distant past', async () => {
  const times = [
    '1900-01-01T00:00:00.001Z',
    '1969-12-31T23:59:59.999Z',
    '1970-01-01T00:00:00.000Z',
    '1970-01-01T00:00:00.007Z',
    '1999-12-31T23:59:59.123Z',
    '2001-09-09T01:46:39.999Z',
    '2001-09-09T01:46:40.000Z',
    '2026-03-01T12:00:00.500Z',
  ];
  await send(times.map((time, i) => deposit(`t-${i}`, 1_000, 'SEK', time)));
  const before = await eventsInClickHouse();
  expect(before.map(({ at_ms }) => Number(at_ms))).toEqual(times.map((time) => Date.parse(time)));
  await setRate('0.1');
  await rewriteAll();
  expect(await eventsInClickHouse()).toEqual(before.map((event) => ({ ...event, base_amount: '100' })));
});

it('changes nothing when a batch is repeated after a crash', async () => {
  const now = new Date().toISOString();
  const events = Array.from({ length: 30 }, (_, i) => deposit(`t-${i}`, 10 * (i + 1), 'SEK', now));
  await send(events);
  await setRate('0.1');
  // The corrections are deleted last, so when a rewriter dies before that, the next one repeats the batch.
  const { platform } = service;
  const { service: sql } = platform.postgres;
  const dying = (tx: Tx) =>
    new Proxy(tx, {
      apply(target, self, args: [TemplateStringsArray | string, ...unknown[]]) {
        const [first] = args;
        if (typeof first !== 'string' && first.join('').includes('delete from event_corrections'))
          throw new Error('the process died');
        return Reflect.apply(target as (...all: unknown[]) => unknown, self, args);
      },
    });
  const session: RunSession = (work) =>
    platform.postgres.session((own) =>
      work({ sql: own.sql, begin: (in_tx) => own.begin((tx) => in_tx(dying(tx))) }),
    );
  await expect(rewriteOnce({ ...platform, postgres: { ...platform.postgres, session } })).rejects.toThrow(
    'died',
  );
  const corrected = await eventsInClickHouse();
  expect(corrected.map(({ base_amount }) => Number(base_amount)).sort((a, b) => a - b)).toEqual(
    events.map((_, i) => i + 1),
  );
  expect(await sql`select from event_corrections`).toHaveLength(30);
  await rewriteAll();
  expect(await eventsInClickHouse()).toEqual(corrected);
  // Even if the sink inserts the event again without amounts, the higher revision wins.
  await platform.clickhouse.command(
    `insert into events (tenant_id, project_id, event, player_id, occurred_at, received_at, ingestion_id, event_index,
       base_amount, base_payout, properties, revision)
     select tenant_id, project_id, event, player_id, occurred_at, received_at, ingestion_id, event_index,
       cast(null, 'Nullable(Int64)'), cast(null, 'Nullable(Int64)'), properties, 0
     from events final where tenant_id = {tenant_id:UUID}`,
    { tenant_id: tenant.tenant_id },
  );
  expect(await eventsInClickHouse()).toEqual(corrected);
});

it('writes nothing any more once it has lost its lock', async () => {
  await send([deposit('t', 1_000, 'SEK', new Date().toISOString())]);
  await setRate('0.1');
  const { platform } = service;
  const { service: sql } = platform.postgres;
  let inserts = 0;
  const clickhouse: ClickHouse = {
    ...platform.clickhouse,
    async query(text, params) {
      const rows = await platform.clickhouse.query<never>(text, params);
      if (text.includes('from events as e final')) {
        await sql.begin(async (tx) => {
          await tx`set local role none`;
          await tx`
            select pg_terminate_backend(pid) from pg_locks
            where locktype = 'advisory' and objid = hashtext('event-rewriter')::oid`;
        });
        await until('the lock is free', async () => !(await isRewriting()));
      }
      return rows;
    },
    async insertLines(...args) {
      inserts += 1;
      await platform.clickhouse.insertLines(...args);
    },
  };
  // With the error of the session, or of the driver if that notices first.
  await expect(rewriteOnce({ ...platform, clickhouse })).rejects.toThrow(
    /lost|ECONNRESET|CONNECTION|terminat/,
  );
  expect(inserts).toBe(0);
  expect(await sql`select from event_corrections`).toHaveLength(1);
  await rewriteAll();
  expect((await eventsInClickHouse()).map(({ base_amount }) => base_amount)).toEqual(['100']);
});

it('corrects more events than one batch holds, and an event that was restated twice only once', async () => {
  const now = new Date(Date.now() - HOUR_MS).toISOString();
  const events = Array.from({ length: 1_100 }, (_, i) => deposit(`t-${i}`, 1_000 + i, 'SEK', now));
  await send(events);
  await setRate('0.5');
  await setRate('2');
  await rewriteAll();
  const amounts = (await eventsInClickHouse()).map(({ base_amount }) => Number(base_amount));
  expect(amounts.sort((a, b) => a - b)).toEqual(events.map((_, i) => 2 * (1_000 + i)));
});

it('waits for events that are not in ClickHouse yet', async () => {
  await sink.close();
  const { platform } = service;
  await post([deposit('t', 1_000, 'SEK', new Date().toISOString())]);
  await folded(platform);
  await setRate('0.1');
  const { metrics } = platform;
  const corrected = async () => (await metrics.eventsCorrected.get()).values[0]?.value;
  const before = await corrected();
  let is_done = false;
  const rewriting = rewriteOnce(platform).finally(() => (is_done = true));
  await until('the rewriter asks how far the sink is', async () => is_done || isRewriting());
  expect(await rewritersInTransactions()).toBe(0);
  sink = await startAnalyticsSink(platform);
  expect(await rewriting).toBe(true);
  expect((await eventsInClickHouse()).map(({ base_amount }) => base_amount)).toEqual(['100']);
  expect(await corrected()).toBe((before ?? 0) + 1);
});

it('closes without waiting for a sink that was closed before', async () => {
  await sink.close();
  const { platform } = service;
  await post([deposit('t', 1_000, 'SEK', new Date().toISOString())]);
  await folded(platform);
  await setRate('0.1');
  // By this clock it would wait for ever.
  const now_ms = platform.clock.now_ms();
  const rewriter = startEventRewriter({ ...platform, clock: { now_ms: () => now_ms } });
  await until('the rewriter waits for the sink', isRewriting);
  await rewriter.close();
  sink = await startAnalyticsSink(platform);
  await rewriteAll();
  expect((await eventsInClickHouse()).map(({ base_amount }) => base_amount)).toEqual(['100']);
});

/** Whether a rewriter holds its lock. */
async function isRewriting(): Promise<boolean> {
  const { service: sql } = service.platform.postgres;
  const rows =
    await sql`select from pg_locks where locktype = 'advisory' and objid = hashtext('event-rewriter')::oid`;
  return rows.length > 0;
}

/** How many sessions that hold the rewriter's lock have a transaction open meanwhile. */
async function rewritersInTransactions(): Promise<number> {
  const { service: sql } = service.platform.postgres;
  const rows = await sql.begin(async (tx) => {
    await tx`set local role none`;
    return tx`
      select from pg_stat_activity where state like 'idle in transaction%' and pid in (
        select pid from pg_locks where locktype = 'advisory' and objid = hashtext('event-rewriter')::oid)`;
  });
  return rows.length;
}

/** Links the device to the operator's one known player; a player that the device has already is merged into it. */
async function identify(anonymous_id: string): Promise<{ player_id: string; merged_player_ids: string[] }> {
  const response = await call<{ player_id: string; merged_player_ids: string[] }>(
    `${service.base_url}/v1/players/identify`,
    tenant.api_key,
    { body: { anonymous_id, external_id: 'x' } },
  );
  return response.data;
}

it('corrects events even while aliases of merged players cannot be written', async () => {
  const now = new Date().toISOString();
  await send([
    deposit('gone', 1_000, 'SEK', now),
    { ...deposit('stays', 2_000, 'SEK', now), anonymous_id: 'b' },
  ]);
  await identify('b');
  await identify('a');
  await setRate('0.1');
  const { platform } = service;
  const clickhouse = {
    ...platform.clickhouse,
    command: async (sql: string) => {
      if (sql.includes('reload dictionary')) throw new Error('no such user');
    },
  };
  const rewrite = () => rewriteOnce({ ...platform, clickhouse });
  expect(await rewrite()).toBe(true);
  expect((await eventsInClickHouse()).map(({ base_amount }) => base_amount)).toEqual(['100', '200']);
  await expect(rewrite()).rejects.toThrow('no such user');
  await rewriteAll();
});

it('corrects events of a merged player, before and after they carry the survivor’s id', async () => {
  const now = new Date().toISOString();
  await send([
    deposit('gone', 1_000, 'SEK', now),
    { ...deposit('stays', 2_000, 'SEK', now), anonymous_id: 'b' },
  ]);
  const { player_id } = await identify('b');
  const { merged_player_ids } = await identify('a');
  expect(merged_player_ids).toHaveLength(1);
  const read = async () =>
    (await eventsInClickHouse()).map((event) => [event.id, event.player_id, event.base_amount]);
  await setRate('0.1');
  await rewriteOnce(service.platform);
  expect(await read()).toEqual([
    ['gone', merged_player_ids[0], '100'],
    ['stays', player_id, '200'],
  ]);
  await setRate('0.2');
  await rewriteOnce(service.platform, 0);
  await rewriteAll();
  expect(await read()).toEqual([
    ['gone', player_id, '200'],
    ['stays', player_id, '400'],
  ]);
  await setRate('0.3');
  await rewriteAll();
  expect(await read()).toEqual([
    ['gone', player_id, '300'],
    ['stays', player_id, '600'],
  ]);
});

it('removes an alias even if its clock is behind that of the rewriter that wrote it', async () => {
  const now = new Date().toISOString();
  await send([
    deposit('gone', 1_000, 'EUR', now),
    { ...deposit('stays', 2_000, 'EUR', now), anonymous_id: 'b' },
  ]);
  await identify('b');
  await identify('a');
  const { platform } = service;
  const aliases = () =>
    platform.clickhouse.query('select * from player_aliases final where tenant_id = {tenant_id:UUID}', {
      tenant_id: tenant.tenant_id,
    });
  await rewriteOnce(platform);
  expect(await aliases()).toHaveLength(1);
  const behind = { now_ms: () => platform.clock.now_ms() - 60_000 };
  await rewriteOnce({ ...platform, clock: behind }, 0);
  expect(await aliases()).toEqual([]);
});

/** Makes players a, b, … and merges all into one; returns how many merges there are. */
async function mergeDevices(devices: readonly string[]): Promise<number> {
  const now = new Date().toISOString();
  await send(devices.map((anonymous_id) => ({ ...deposit(anonymous_id, 1_000, 'SEK', now), anonymous_id })));
  let merges = 0;
  for (const device of devices) merges += (await identify(device)).merged_player_ids.length;
  return merges;
}

it('halves a batch of merges that takes too long, and takes whole batches again after the backlog', async () => {
  const merges = await mergeDevices(['a', 'b', 'c', 'd', 'e']);
  expect(merges).toBe(4);
  const { platform } = service;
  const tried: number[] = [];
  const clickhouse: ClickHouse = {
    ...platform.clickhouse,
    async rewrite(name, sql, params) {
      const { players } = params as { players: string[] };
      if (name === 'rewrite-merged-events') tried.push(players.length);
      if (players.length > 1) throw new StatementTimedOut(600_000);
      await platform.clickhouse.rewrite(name, sql, params);
    },
  };
  const state = newRewriteState();
  const whole = state.max_merges;
  const rewrite = () => rewriteOnce({ ...platform, clickhouse }, 0, undefined, state);
  await expect(rewrite()).rejects.toThrow(StatementTimedOut);
  await expect(rewrite()).rejects.toThrow(StatementTimedOut);
  while (await rewrite());
  expect(tried).toEqual([4, 2, 1, 1, 1, 1]);
  expect(state.max_merges).toBe(whole);
  expect(new Set((await eventsInClickHouse()).map(({ player_id }) => player_id)).size).toBe(1);
});

it('writes corrections before it rewrites merges again, but does not put merges off for ever', async () => {
  await mergeDevices(['a', 'b']);
  const { platform } = service;
  let rewrites = 0;
  const clickhouse: ClickHouse = {
    ...platform.clickhouse,
    async rewrite() {
      rewrites++;
      throw new StatementTimedOut(600_000);
    },
  };
  const state = newRewriteState();
  const rewrite = () => rewriteOnce({ ...platform, clickhouse }, 0, undefined, state);
  await expect(rewrite()).rejects.toThrow(StatementTimedOut);
  await setRate('0.1');
  expect(await rewrite()).toBe(true);
  expect(rewrites).toBe(1);
  expect((await eventsInClickHouse()).map(({ base_amount }) => base_amount)).toEqual(['100', '100']);
  await expect(rewrite()).rejects.toThrow(StatementTimedOut);
  // The last rewrite was long ago.
  await setRate('0.2');
  state.rewritten_ms -= 3_600_000;
  await expect(rewrite()).rejects.toThrow(StatementTimedOut);
  expect(rewrites).toBe(3);
  expect((await eventsInClickHouse()).map(({ base_amount }) => base_amount)).toEqual(['200', '200']);
  while (await rewriteOnce(platform, 0));
});
