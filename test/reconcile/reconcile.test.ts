import { afterAll, beforeAll, expect, it } from 'vitest';
import { rewriteOnce } from '../../processors/event-rewriter/index.ts';
import type { ReconcileReport } from '../../src/reconcile/schema.ts';
import { call, internally } from '../engines/http-client.ts';
import { startTestService, type TestService, type TestTenant } from '../engines/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

async function reconcile(body: object): Promise<ReconcileReport> {
  const { status, data, text } = await internally<ReconcileReport>(service, 'reconcile', body);
  expect(status, text).toBe(200);
  return data;
}

async function send(tenant: TestTenant, events: object[]): Promise<void> {
  const response = await call(`${service.ingest_url}/v1/events/batch`, tenant.api_key, { body: { events } });
  expect(response.body).toMatchObject({ data: { accepted: events.length } });
}

/** Every kind of event that counts, for three players. The second currency has no rate yet. */
function someOfEach(): object[] {
  return ['a', 'b', 'c'].flatMap((who) => {
    const event = (name: string, properties: object) => ({ event: name, anonymous_id: who, properties });
    const money = (amount: number, currency = 'EUR') => ({ amount, currency });
    const game = { game_id: 'g', game_category: 'slots' };
    const sport = { sport: 'football', bet_type: 'single', odds: '2', event_ref: 'm' };
    const card = { payment_method: 'card' };
    return [
      event('deposit_confirmed', { ...money(10_000), transaction_id: `${who}-1`, ...card }),
      event('deposit_confirmed', { ...money(5_000, 'USD'), transaction_id: `${who}-2`, ...card }),
      event('deposit_initiated', { ...money(77), transaction_id: `${who}-3`, ...card }),
      event('deposit_failed', {}),
      event('deposit_failed', { transaction_id: `${who}-3` }),
      event('withdrawal_confirmed', { ...money(400), transaction_id: `${who}-4` }),
      event('bet_placed', { ...money(300), bet_id: `${who}-5`, ...game }),
      event('bet_settled', { ...money(300), payout: 500, bet_id: `${who}-5`, ...game, outcome: 'won' }),
      event('sport_bet_placed', { ...money(800), bet_id: `${who}-6`, ...sport }),
      event('sport_bet_voided', { bet_id: `${who}-6` }),
      event('sport_bet_placed', { ...money(900), bet_id: `${who}-7`, ...sport }),
      event('session_start', money(5)),
      event('login', money(5)),
    ];
  });
}

it('finds 0 differences in a quiet service, after it has waited for accepted events', async () => {
  const tenant = await service.newTenant();
  await send(tenant, someOfEach());
  const { tenant_id } = tenant;
  const report = await reconcile({ tenant_id });
  expect(report).toMatchObject({ differences: 0, listed: [], tenants: 1, projects: 1, players: 3 });
  // 13 events per player. Ten have a ledger row, and `event_rows` also counts the session start. The login and the
  // failed deposit without an id are not counted.
  expect(report.ledger_rows).toBe(3 * 10);
  expect(report.event_rows).toBe(3 * 11);
});

it('finds 0 differences while events arrive', async () => {
  const tenant = await service.newTenant();
  const stop = new AbortController();
  const traffic = (async () => {
    for (let i = 0; !stop.signal.aborted; i++) {
      const properties = { amount: i, currency: 'EUR', transaction_id: `t-${i}`, payment_method: 'card' };
      await send(tenant, [
        { event: 'deposit_confirmed', anonymous_id: `p-${i % 500}`, properties },
        { event: 'session_start', anonymous_id: `p-${(i + 1) % 500}` },
      ]);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const reports = [await reconcile({}), await reconcile({}), await reconcile({})];
  stop.abort();
  await traffic;
  expect(reports.map(({ listed }) => listed)).toEqual([[], [], []]);
});

it('reports each difference with its player and cause', async () => {
  const tenant = await service.newTenant();
  const { tenant_id, project_id } = tenant;
  await send(tenant, someOfEach());
  await reconcile({ tenant_id });
  const { postgres, clickhouse } = service.platform;
  const [wrong, lost, doubled] = await postgres.service<{ player_id: string }[]>`
    select player_id from players where tenant_id = ${tenant_id} order by player_id`;
  await postgres.service`update player_totals set total_deposited = total_deposited + 1,
      first_deposit_at = first_deposit_at + interval '1 hour'
    where tenant_id = ${tenant_id} and player_id = ${wrong?.player_id ?? ''}`;
  await clickhouse.command(
    `delete from events where tenant_id = {tenant_id:UUID} and player_id = {player_id:UUID} and event = 'bet_placed'`,
    { tenant_id, player_id: lost?.player_id },
  );
  await clickhouse.command(
    `insert into events (tenant_id, project_id, event, player_id, occurred_at, ingestion_id)
      values ({tenant_id:UUID}, {project_id:UUID}, 'session_start', {player_id:UUID}, now(), generateUUIDv4())`,
    { tenant_id, project_id, player_id: doubled?.player_id },
  );
  const { listed, differences } = await reconcile({ tenant_id });
  expect(differences).toBe(7);
  expect(
    new Set(
      listed.map(
        ({ check, table, player_id, field, cause }) => `${check} ${table} ${player_id} ${field}: ${cause}`,
      ),
    ),
  ).toEqual(
    new Set([
      `ledger null ${wrong?.player_id} total_deposited: the totals are not what the ledger rows add up to`,
      `ledger null ${wrong?.player_id} first_deposit_at: the totals are not what the ledger rows add up to`,
      `mirror players ${wrong?.player_id} first_deposit_at: the copy in ClickHouse has the right revision and another value`,
      `mirror players ${wrong?.player_id} total_deposited: the copy in ClickHouse has the right revision and another value`,
      `events events ${lost?.player_id} bet_placed.count: ClickHouse lacks 1 of its events`,
      `events events ${doubled?.player_id} session_start.count: ClickHouse has 1 events too many`,
      `events events_by_player ${doubled?.player_id} session_start.count: ClickHouse has 1 events too many`,
    ]),
  );
});

it('rebuilds ClickHouse from Postgres and the log, including restatements and merges since', async () => {
  const tenant = await service.newTenant();
  const other = await service.newTenant();
  const { tenant_id, project_id } = tenant;
  const sql = service.platform.postgres.service;
  await send(tenant, someOfEach());
  await send(other, someOfEach());
  // A later rate restates rows, and two of the players are merged.
  await reconcile({ tenant_id });
  await sql`insert into fx_rates (tenant_id, base, quote, ts, rate) values (${tenant_id}, 'USD', 'EUR', '2020-01-01', 0.9)`;
  const survivor = await identify(tenant, { anonymous_id: 'a', external_id: 'one' });
  expect((await identify(tenant, { anonymous_id: 'b', external_id: 'one' }))['player_id']).toBe(
    survivor['player_id'],
  );
  await rewriteOnce(service.platform, 0);
  const before = await reconcile({ tenant_id });
  expect(before).toMatchObject({ differences: 0, players: 2 });
  const timeline = await timelineOf(tenant, String(survivor['player_id']));

  const { clickhouse } = service.platform;
  const scope = `tenant_id = '${tenant_id}' and project_id = '${project_id}'`;
  await clickhouse.command(`delete from events where ${scope} and event = 'bet_settled'`);
  await clickhouse.command(`delete from events_by_player where ${scope} and event = 'login'`);
  await clickhouse.command(
    `insert into events select * replace (generateUUIDv4() as ingestion_id, 5 as base_amount)
     from events final where ${scope} and event = 'deposit_confirmed'`,
  );
  await clickhouse.command(`delete from players where ${scope}`);
  const damaged = await reconcile({ tenant_id });
  expect(new Set(damaged.listed.map(({ check }) => check))).toEqual(new Set(['events', 'mirror']));

  const repaired = await reconcile({ tenant_id, repair: true });
  expect(repaired).toMatchObject({
    differences: 0,
    listed: [],
    repaired_projects: 1,
    event_rows: before.event_rows,
  });
  expect(await timelineOf(tenant, String(survivor['player_id']))).toEqual(timeline);
  expect(await reconcile({ tenant_id: other.tenant_id, repair: true })).toMatchObject({
    differences: 0,
    repaired_projects: 0,
  });
});

it('does not repair totals: a total that differs from its ledger rows is reported and left as it is', async () => {
  const tenant = await service.newTenant();
  const { tenant_id } = tenant;
  await send(tenant, someOfEach());
  await reconcile({ tenant_id });
  const sql = service.platform.postgres.service;
  await sql`update player_totals set total_deposited = total_deposited + 1, changed_xid = pg_current_xact_id()
    where tenant_id = ${tenant_id}`;
  const report = await reconcile({ tenant_id, repair: true });
  expect(report).toMatchObject({ differences: 3, repaired_projects: 0 });
  expect(report.listed).toEqual([
    expect.objectContaining({
      check: 'ledger',
      field: 'total_deposited',
      expected: '10000',
      actual: '10001',
    }),
    expect.objectContaining({ check: 'ledger' }),
    expect.objectContaining({ check: 'ledger' }),
  ]);
});

async function identify(tenant: TestTenant, body: object): Promise<Record<string, unknown>> {
  const response = await call(`${service.base_url}/v1/players/identify`, tenant.api_key, { body });
  return response.data;
}

async function timelineOf(tenant: TestTenant, player_id: string): Promise<unknown> {
  const response = await call(
    `${service.base_url}/v1/players/${player_id}/timeline?limit=200`,
    tenant.session_token,
  );
  return response.data;
}
