import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { counted, type TestService, type TestTenant } from '../../../engines/service.ts';
import { sharedService } from '../../../engines/shared-service.ts';
import { accept, api, newPlayer } from '../../../console/events/event-client.ts';
import { ask, column, insights, type Cell, type Insight } from '../insight-client.ts';

const JULY = { from: '2026-07-01T00:00:00Z', to: '2026-07-11T00:00:00Z' };

let service: TestService;
let tenant: TestTenant;
const ids = new Map<string, string>();
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
  for (const name of ['ann', 'ben', 'cid', 'dan'])
    ids.set(name, await newPlayer(service, tenant, { external_id: name }));
  await accept(
    service,
    tenant,
    deposit('ann', '01T10', 'd1', 5_000, 'card'),
    bet('ann', '01T11', 'b1', 1_000, 400),
    deposit('ann', '03T10', 'd2', 1_000, 'card'),
    deposit('ben', '01T12', 'd3', 3_000, 'wire'),
    bet('ben', '05T12', 'b2', 700, 0),
    deposit('cid', '02T09', 'd4', 2_000, 'card'),
    // Not later than the deposit.
    bet('cid', '02T09', 'b3', 500, 900),
    of('dan', '04T10', 'login', {}),
  );
  await counted(service.platform);
});
afterAll(() => service.close());

function of(name: string, time: string, event: string, properties: object) {
  return { event, player_id: ids.get(name) ?? '', timestamp: `2026-07-${time}:00:00Z`, properties };
}
function deposit(name: string, time: string, transaction_id: string, amount: number, payment_method: string) {
  const properties = { amount, currency: 'EUR', transaction_id, payment_method };
  return of(name, time, 'deposit_confirmed', properties);
}
function bet(name: string, time: string, bet_id: string, amount: number, payout: number) {
  const outcome = payout > 0 ? 'won' : 'lost';
  const game = { game_id: 'book', game_category: 'slots' };
  return of(name, time, 'bet_settled', { currency: 'EUR', ...game, bet_id, amount, payout, outcome });
}

async function players(query: object, cell: object): Promise<[string | null, number][]> {
  const { status, text, data } = await insights(service, tenant, '/players', { query, cell, limit: 2 });
  expect(status, text).toBe(200);
  const rows = data as unknown as { external_id: string | null; value: number }[];
  return rows.map(({ external_id, value }) => [external_id, value]);
}

function names(listed: readonly (readonly [string | null, number])[]): string[] {
  return listed.map(([name]) => String(name)).sort();
}

/** The rows of an answer as objects by the names of the columns. */
function named({ columns }: Insight, rows: readonly Cell[][] | null): Record<string, Cell>[] {
  return (rows ?? []).map((row) =>
    Object.fromEntries(columns.map(({ name }, i): [string, Cell] => [name, row[i] ?? null])),
  );
}

const rate = (numerator: number, denominator: number) => ({ numerator, denominator });

describe('a funnel', () => {
  const funnel = {
    kind: 'funnel',
    range: JULY,
    steps: [{ event: 'deposit_confirmed' }, { event: 'bet_settled' }],
    within: { days: 2 },
  };

  it('counts players by step, whose next event is later and within the time', async () => {
    const answer = await ask(service, tenant, funnel);
    expect(named(answer, answer.rows)).toMatchObject([
      { step: 1, event: 'deposit_confirmed', players: 3, of_first: rate(3, 3), is_complete: true },
      { step: 2, event: 'bet_settled', players: 1, of_first: rate(1, 3), of_previous: rate(1, 3) },
    ]);
    expect(await players(funnel, { step: 2 })).toEqual([['ann', 2]]);
    expect(names(await players(funnel, { step: 1, is: 'dropped' }))).toEqual(['ben', 'cid']);
  });

  it('goes by group, and compares with another range', async () => {
    const breakdown = { by: 'payment_method', top: 1 };
    const grouped = await ask(service, tenant, { ...funnel, breakdown });
    expect(named(grouped, grouped.rows)).toMatchObject([
      { group: 'card', step: 1, players: 2 },
      { group: 'card', step: 2, players: 1 },
    ]);
    expect(column(grouped, grouped.other, 'players')).toEqual([1, 0]);
    expect(column(grouped, grouped.totals, 'players')).toEqual([3, 1]);
    expect(await players({ ...funnel, breakdown }, { not_in: ['card'] })).toEqual([['ben', 1]]);
    expect(await players({ ...funnel, breakdown }, { step: 2, group: 'card' })).toEqual([['ann', 2]]);
    const by_player = await ask(service, tenant, { ...funnel, breakdown: { by: 'currency' } });
    expect(column(by_player, by_player.rows, 'group')).toEqual(['EUR', 'EUR']);
    const range = { from: '2026-07-02T00:00:00Z', to: '2026-07-03T00:00:00Z' };
    const compared = await ask(service, tenant, { ...funnel, range, compare: 'previous' });
    expect(column(compared, compared.rows, 'players')).toEqual([1, 0]);
    expect(column(compared, compared.rows, 'players.compared')).toEqual([2, 1]);
  });

  it('refuses what has no meaning', async () => {
    const refused = async (query: object, cell: object) =>
      (await insights(service, tenant, '/players', { query, cell })).status;
    expect(await refused(funnel, { step: 3 })).toBe(422);
    expect(await refused(funnel, { step: 1, group: 'card' })).toBe(422);
    const both = { ...funnel, compare: 'week', breakdown: { by: 'tier' } };
    expect((await insights(service, tenant, '/query', both)).status).toBe(422);
  });
});

describe('a retention', () => {
  const retention = {
    kind: 'retention',
    range: { from: '2026-07-01T00:00:00Z', to: '2026-07-04T00:00:00Z' },
    cohort: 'first_deposit',
    returns: 'deposit',
    value: 'ngr',
  };

  it('has returns and money of each cohort, less deductions', async () => {
    const deductions = [{ name: 'duty', basis: 'ggr', bp: 1_000 }];
    const reporting = (body: object) =>
      api(service, tenant.session_token, '/v1/tenant/config', { method: 'PATCH', body });
    expect((await reporting({ config: { reporting: { deductions } } })).status).toBe(200);
    const answer = await ask(service, tenant, retention);
    await reporting({ config: { reporting: null } });
    const rows = named(answer, answer.rows);
    expect(rows).toHaveLength(9);
    expect(rows[0]).toMatchObject({ cohort: '2026-07-01T00:00:00.000Z', period: 0, size: 2, players: 2 });
    expect(rows[0]).toMatchObject({ value_players: 1, value: 600 - 60, retention: rate(2, 2) });
    expect(rows[2]).toMatchObject({ period: 2, size: 2, players: 1, value_players: 0, value: 0 });
    expect(rows[3]).toMatchObject({ period: 0, size: 1, players: 1, value: -400 + 40 });
    const totals = named(answer, answer.totals);
    expect(totals[0]).toMatchObject({ period: 0, size: 3, players: 3, value: 540 - 360 });
    const cohort = '2026-07-01T00:00:00Z';
    expect(await players(retention, { cohort, period: 2 })).toEqual([['ann', 1]]);
    expect(await players(retention, { cohort, period: 0, of: 'value' })).toEqual([['ann', 600]]);
    expect(names(await players(retention, { cohort }))).toEqual(['ann', 'ben']);
  });

  it('has null where a cell is not over, and refuses too many cohorts', async () => {
    for (const mode of ['calendar', 'rolling_24h']) {
      const query = { ...retention, range: { last: { days: 21 } }, interval: 'week', mode };
      const answer = await ask(service, tenant, query);
      const open = named(answer, answer.rows).filter(({ is_complete }) => is_complete === false);
      expect(open.length).toBeGreaterThan(3);
      expect(
        open.every(
          ({ players, value, retention }) => players === null && value === null && retention === null,
        ),
      ).toBe(true);
    }
    const many = await insights(service, tenant, '/query', { ...retention, range: { last: { days: 60 } } });
    expect([many.status, many.text]).toEqual([422, expect.stringContaining('at most 53 cohorts')]);
  });
});

it('a lifecycle has the states of each interval', async () => {
  const query = {
    kind: 'lifecycle',
    range: { from: '2026-07-01T00:00:00Z', to: '2026-07-06T00:00:00Z' },
    quiet_days: 2,
  };
  const answer = await ask(service, tenant, query);
  const states = ['new', 'returning', 'reactivated', 'churned'].map((name) =>
    column(answer, answer.rows, name),
  );
  // ann: 1 and 3; ben: 1 and 5; cid: 2; dan: 4. All are known since their first event.
  expect(states).toEqual([
    [2, 1, 0, 1, 0],
    [0, 0, 1, 0, 0],
    [0, 0, 0, 0, 1],
    [0, 2, 2, 2, 2],
  ]);
  expect(await players(query, { at: '2026-07-05T00:00:00Z', state: 'reactivated' })).toEqual([['ben', 1]]);
  const churned = await players(query, { at: '2026-07-04T00:00:00Z', state: 'churned' });
  expect(names(churned)).toEqual(['ann', 'cid']);
  expect((await insights(service, tenant, '/query', { ...query, interval: 'hour' })).status).toBe(422);
});

it('a distribution has parts, quantiles and the share of the top, and lists their players', async () => {
  const query = { kind: 'distribution', range: JULY, value: 'deposits', cuts: [2_500, 5_000] };
  const answer = await ask(service, tenant, query);
  expect(named(answer, answer.rows)).toMatchObject([
    { part: 'bucket 1', from: null, to: 2_500, players: 1, value: 2_000, share: rate(2_000, 11_000) },
    { part: 'bucket 2', from: 2_500, to: 5_000, players: 1, value: 3_000, first: 2, last: 2 },
    { part: 'bucket 3', from: 5_000, to: null, players: 1, value: 6_000 },
  ]);
  expect(named(answer, answer.totals).slice(0, 2)).toMatchObject([
    { part: 'all', players: 3, value: 11_000 },
    { part: 'top 1 %', players: 1, value: 6_000, share: rate(6_000, 11_000) },
  ]);
  expect(await players(query, { from: 5_000 })).toEqual([['ann', 6_000]]);
  expect(await players(query, { first: 2, last: 3 })).toEqual([
    ['ben', 3_000],
    ['cid', 2_000],
  ]);
  const days = await ask(service, tenant, { ...query, value: 'active_days', cuts: 'deciles' });
  expect(named(days, days.totals)[0]).toMatchObject({ players: 4, value: 2 + 2 + 1 + 1 });
  const empty = { ...query, range: { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' } };
  expect(named(answer, (await ask(service, tenant, empty)).totals)[0]).toMatchObject({
    players: 0,
    value: 0,
  });
});
