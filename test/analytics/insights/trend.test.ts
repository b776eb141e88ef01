import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { accept, api, newPlayer } from '../../console/events/event-client.ts';
import { ask, column, insights } from './insight-client.ts';

const ZONE = 'Europe/Malta';
const JULY = { from: '2026-06-30T22:00:00Z', to: '2026-07-10T22:00:00Z' };

let service: TestService;
let tenant: TestTenant;
let ann: string;
let ben: string;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
  await configure({ timezone: ZONE });
  ann = await newPlayer(service, tenant, { external_id: 'ann' });
  ben = await newPlayer(service, tenant, { external_id: 'ben' });
  const casino = { currency: 'EUR', game_category: 'slots' };
  await accept(
    service,
    tenant,
    at(ann, '2026-07-01T10:00:00Z', 'deposit_confirmed', deposit('d1', 5_000, 'card')),
    at(ben, '2026-07-02T10:00:00Z', 'deposit_confirmed', deposit('d2', 3_000, 'wire')),
    at(ann, '2026-07-02T11:00:00Z', 'deposit_confirmed', deposit('d3', 1_000, 'card')),
    at(ann, '2026-07-02T11:05:00Z', 'deposit_failed', deposit('d4', 1_000, 'card')),
    at(ann, '2026-07-02T12:00:00Z', 'bet_settled', bet('b1', 'book', 1_000, 400)),
    at(ben, '2026-07-02T22:30:00Z', 'bet_settled', bet('b2', 'book', 700, 0)),
    at(ben, '2026-07-03T10:00:00Z', 'bet_settled', bet('b3', 'dead', 500, 900)),
    at(ben, '2026-07-03T11:00:00Z', 'bet_placed', { ...casino, bet_id: 'b4', game_id: 'fire', amount: 50 }),
    at(ann, '2026-07-03T12:00:00Z', 'login', {}),
  );
  await counted(service.platform);
});
afterAll(() => service.close());

const at = (player_id: string, timestamp: string, event: string, properties: object) => ({
  event,
  player_id,
  timestamp,
  properties,
});
const deposit = (transaction_id: string, amount: number, payment_method: string) => ({
  amount,
  currency: 'EUR',
  transaction_id,
  payment_method,
});
const bet = (bet_id: string, game_id: string, amount: number, payout: number) => ({
  currency: 'EUR',
  game_id,
  game_category: 'slots',
  bet_id,
  amount,
  payout,
  outcome: payout > 0 ? 'won' : 'lost',
});

async function configure(reporting: object): Promise<void> {
  const { status, text } = await api(service, tenant.session_token, '/v1/tenant/config', {
    method: 'PATCH',
    body: { config: { reporting } },
  });
  expect(status, text).toBe(200);
}

const trend = (series: object[], more: object = {}) =>
  ask(service, tenant, { kind: 'trend', range: JULY, series, ...more });

describe('a trend', () => {
  it('has money and players by local day, and totals', async () => {
    const answer = await trend(
      ['deposits', 'wagered', 'won', 'ggr', 'active_players', 'first_deposits', 'deposits_failed']
        .slice(0, 5)
        .map((metric) => ({ metric })),
    );
    expect(answer).toMatchObject({
      kind: 'trend',
      currency: 'EUR',
      timezone: ZONE,
      bonus_cost: 'feed',
      is_stale: false,
      is_exact: true,
      error: null,
      restating_days: 0,
      other: null,
    });
    expect(answer.rows).toHaveLength(10);
    expect(column(answer, answer.rows, 'at').slice(0, 2)).toEqual([
      '2026-06-30T22:00:00.000Z',
      '2026-07-01T22:00:00.000Z',
    ]);
    expect(column(answer, answer.rows, 'deposits').slice(0, 4)).toEqual([5_000, 4_000, 0, 0]);
    expect(column(answer, answer.rows, 'wagered').slice(0, 4)).toEqual([0, 1_000, 1_250, 0]);
    expect(column(answer, answer.rows, 'ggr').slice(0, 4)).toEqual([0, 600, 350, 0]);
    expect(column(answer, answer.rows, 'active_players').slice(0, 4)).toEqual([1, 2, 2, 0]);
    expect(answer.totals).toHaveLength(1);
    expect(column(answer, answer.totals, 'at')).toEqual([null]);
    expect(column(answer, answer.totals, 'ggr')).toEqual([950]);
    expect(column(answer, answer.totals, 'active_players')).toEqual([2]);
  });

  it('has a column of its own for each series, also of one event', async () => {
    const event = 'deposit_confirmed';
    const of = (method: string) => ({
      event,
      where: [{ property: 'payment_method', op: 'eq', value: method }],
    });
    const answer = await trend([of('card'), of('wire')], { compare: 'previous', interval: 'month' });
    expect(answer.columns.map(({ name }) => name)).toEqual(
      expect.arrayContaining([`${event}.count`, `${event}.count.compared`, `${event}.count_2`]),
    );
    expect(new Set(answer.columns.map(({ name }) => name)).size).toBe(answer.columns.length);
    expect(column(answer, answer.totals, `${event}.count`)).toEqual([2]);
    expect(column(answer, answer.totals, `${event}.count_2`)).toEqual([1]);
  });

  it('has groups, and exactly what they leave', async () => {
    const by_item = await trend([{ metric: 'ggr' }, { metric: 'active_players' }], {
      breakdown: { by: 'item', top: 1 },
      interval: 'week',
    });
    expect(column(by_item, by_item.totals, 'group')).toEqual([null, 'book']);
    expect(column(by_item, by_item.totals, 'ggr')).toEqual([950, 1_300]);
    expect(column(by_item, by_item.other, 'ggr').at(-1)).toBe(-350);
    const by_method = await trend([{ metric: 'deposits' }, { metric: 'depositors' }], {
      breakdown: { by: 'payment_method', top: 5 },
    });
    expect(column(by_method, by_method.totals, 'group')).toEqual([null, 'card', 'wire']);
    expect(column(by_method, by_method.totals, 'deposits')).toEqual([9_000, 6_000, 3_000]);
    expect(column(by_method, by_method.totals, 'depositors')).toEqual([2, 1, 1]);
    expect(column(by_method, by_method.other, 'deposits').every((value) => value === 0)).toBe(true);
    const by_status = await trend([{ metric: 'deposits' }], { breakdown: { by: 'currency' } });
    expect(column(by_status, by_status.totals, 'group')).toEqual([null, 'EUR']);
  });

  it('compares with the intervals before, a week and a year earlier', async () => {
    const answer = await trend([{ metric: 'deposits' }], {
      range: { from: '2026-07-07T22:00:00Z', to: '2026-07-09T22:00:00Z' },
      compare: 'week',
      breakdown: { by: 'product' },
    });
    expect(column(answer, answer.totals, 'deposits')).toEqual([0, 0]);
    expect(column(answer, answer.totals, 'deposits.compared')).toEqual([9_000, 9_000]);
    expect(column(answer, answer.rows, 'deposits.compared')).toEqual([5_000, 4_000]);
    const before = await trend([{ metric: 'ggr' }, { metric: 'bettors' }], {
      range: { from: '2026-07-02T22:00:00Z', to: '2026-07-03T22:00:00Z' },
      compare: 'previous',
    });
    expect(before.rows.map((row) => row.slice(2))).toEqual([[-1_150 + 1_500, 1, 600, 1]]);
  });

  it('has rates as numerator and denominator, and ratios of series', async () => {
    const answer = await trend(
      [{ metric: 'hold' }, { metric: 'deposit_success' }, { metric: 'won' }, { metric: 'wagered' }],
      { ratio: [2, 3] },
    );
    expect(answer.totals[0]?.slice(2)).toEqual([
      { numerator: 950, denominator: 2_250 },
      { numerator: 3, denominator: 4 },
      1_300,
      2_250,
      { numerator: 1_300, denominator: 2_250 },
    ]);
  });

  it('has aggregates of events', async () => {
    const of = (aggregate: string, property?: string) => ({
      event: 'deposit_confirmed',
      aggregate,
      property,
    });
    const answer = await trend([
      of('count'),
      of('players'),
      of('sum', 'amount'),
      of('avg', 'amount'),
      of('distinct', 'payment_method'),
    ]);
    expect(answer.totals[0]?.slice(2)).toEqual([3, 2, 9_000, { numerator: 9_000, denominator: 3 }, 2]);
    const clauses = await trend([
      { ...of('max', 'amount'), where: [{ property: 'payment_method', op: 'eq', value: 'card' }] },
      { ...of('min', 'amount'), where: [{ property: 'amount', op: 'gt', value: 1_000 }] },
    ]);
    expect(clauses.totals[0]?.slice(2)).toEqual([5_000, 3_000]);
    expect(clauses.rows[5]?.slice(2)).toEqual([null, null]);
  });

  it('is about the players and events of its filter', async () => {
    const definition = {
      operator: 'AND',
      conditions: [{ type: 'trait', field: 'external_id', op: 'eq', value: 'ann' }],
    };
    const of_ann = await trend([{ metric: 'deposits' }, { metric: 'first_deposits' }], {
      filter: { definition },
    });
    expect(of_ann.totals[0]?.slice(2)).toEqual([6_000, 1]);
    const where = [{ property: 'payment_method', op: 'eq', value: 'wire' }];
    const of_wire = await trend([{ metric: 'deposits' }], { filter: { where } });
    expect(of_wire.totals[0]?.slice(2)).toEqual([3_000]);
  });

  it('shows deductions, and takes them from NGR, half to even', async () => {
    const deductions = [
      { name: 'Duty', product: 'casino', basis: 'ggr', bp: 2_500 },
      { name: 'Payments', basis: 'deposits', bp: 5 },
    ];
    await configure({ deductions });
    const answer = await trend([{ metric: 'deductions' }, { metric: 'ngr' }], { interval: 'month' });
    // 950 × 25 % = 237.5, 9,000 × 0.05 % = 4.5.
    expect(answer.columns.slice(2).map(({ label }) => label)).toEqual(['Duty', 'Payments', 'NGR']);
    expect(answer.totals[0]?.slice(2)).toEqual([238, 4, 950 - 238 - 4]);
    const by_day = await trend([{ metric: 'deductions' }, { metric: 'ngr' }], { interval: 'day' });
    const sumOf = (column: number) => by_day.rows.reduce((sum, row) => sum + Number(row[column]), 0);
    expect(by_day.totals[0]?.slice(2)).toEqual([2, 3, 4].map(sumOf));
    // NGR is one figure: also in the overview and in its chart.
    const range = 'from=2026-06-30T22:00:00Z&to=2026-07-10T22:00:00Z';
    const shown = await api(service, tenant.session_token, `/v1/overview?${range}`);
    expect((shown.data['now'] as { ngr: number }).ngr).toBe(sumOf(4));
    const chart = await api(service, tenant.session_token, `/v1/series?metric=ngr&interval=day&${range}`);
    const points = chart.data['points'] as { value: number }[];
    expect(points.map(({ value }) => value)).toEqual(column(by_day, by_day.rows, 'ngr'));
    // Of 2026-10-25, when 02:10 is before 02:05 in Malta, no moment of the week before is compared with.
    const twice = 'from=2026-10-25T00:10:00Z&to=2026-10-25T01:05:00Z';
    const { data, status, text } = await api(service, tenant.session_token, `/v1/overview?${twice}`);
    expect([status, data['week_before']], text).toMatchObject([200, { ngr: 0, deposits: 0 }]);
    const gross = await trend([{ metric: 'ngr_before_deductions' }], { interval: 'month' });
    expect(gross.totals[0]?.slice(2)).toEqual([950]);
    const shares = await ask(service, tenant, {
      kind: 'distribution',
      range: JULY,
      value: 'ngr',
      cuts: 'deciles',
    });
    expect(shares.columns.find(({ name }) => name === 'value')?.label).toBe('NGR before deductions');
    expect(column(shares, shares.totals.slice(0, 1), 'value')).toEqual([950]);
    await configure({ deductions: null });
  });

  it('has the players of each figure', async () => {
    const query = {
      kind: 'trend',
      range: JULY,
      series: [{ metric: 'deposits' }, { metric: 'active_players' }, { metric: 'hold' }],
      breakdown: { by: 'payment_method', top: 1 },
    };
    const listed = async (cell: object, more: object = {}) => {
      const { status, text, data, next_cursor } = await insights(service, tenant, '/players', {
        query,
        cell,
        ...more,
      });
      expect(status, text).toBe(200);
      const rows = data as unknown as { id: string; external_id: string; value: number }[];
      return { rows: rows.map(({ external_id, value }) => [external_id, value]), next_cursor };
    };
    expect((await listed({})).rows).toEqual([
      ['ann', 6_000],
      ['ben', 3_000],
    ]);
    expect((await listed({ at: '2026-07-01T22:00:00Z' })).rows).toEqual([
      ['ben', 3_000],
      ['ann', 1_000],
    ]);
    expect((await listed({ group: 'card' })).rows).toEqual([['ann', 6_000]]);
    expect((await listed({ not_in: ['card'] })).rows).toEqual([['ben', 3_000]]);
    expect(
      (await listed({ series: 1, group: '' })).rows.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    ).toEqual([
      ['ann', 1],
      ['ben', 1],
    ]);
    const first = await listed({}, { limit: 1 });
    expect(first.rows).toEqual([['ann', 6_000]]);
    const second = await listed({}, { limit: 1, cursor: first.next_cursor });
    expect(second).toEqual({ rows: [['ben', 3_000]], next_cursor: null });
    for (const cell of [{ series: 2 }, { series: 4 }, { at: '2026-07-01T23:00:00Z' }, { place: 1 }]) {
      const { status, text } = await insights(service, tenant, '/players', { query, cell });
      expect(status, text).toBe(422);
    }
  });

  it('shows an event that arrives for a day that was over', async () => {
    const query = [{ metric: 'withdrawals' }];
    expect((await trend(query)).totals[0]?.[2]).toBe(0);
    const late = at(ann, '2026-07-05T10:00:00Z', 'withdrawal_confirmed', {
      amount: 250,
      currency: 'EUR',
      transaction_id: 'w1',
    });
    await accept(service, tenant, late);
    await counted(service.platform);
    // The answer of before is given for up to ten seconds more.
    const answer = await until(
      'the figure has the late event',
      async (saw) => {
        const found = saw(await trend(query));
        return found.totals[0]?.[2] === 0 ? undefined : found;
      },
      30_000,
    );
    expect(column(answer, answer.rows, 'withdrawals').indexOf(250)).toBe(4);
  });

  it('refuses what cannot be computed', async () => {
    const refusals: [object, string][] = [
      [{ kind: 'trend', range: JULY, series: [] }, 'series'],
      [{ kind: 'nothing', range: JULY, series: [{ metric: 'ggr' }] }, 'kind'],
      [{ kind: 'trend', range: { last: { days: 801 } }, series: [{ metric: 'ggr' }] }, 'range'],
      [
        { kind: 'trend', range: { last: { days: 800 } }, interval: 'hour', series: [{ metric: 'ggr' }] },
        'range.from',
      ],
      [{ kind: 'trend', range: { from: JULY.to, to: JULY.from }, series: [{ metric: 'ggr' }] }, 'range.from'],
      [{ kind: 'trend', range: JULY, series: [{ metric: 'ggr' }], ratio: [0, 1] }, 'ratio'],
      [{ kind: 'trend', range: JULY, series: [{ metric: 'deductions' }] }, 'series.0'],
      [
        { kind: 'trend', range: JULY, series: [{ metric: 'new_players' }], breakdown: { by: 'item' } },
        'breakdown.by',
      ],
      [
        { kind: 'trend', range: JULY, series: [{ metric: 'ggr' }], breakdown: { by: 'item', top: 26 } },
        'breakdown.top',
      ],
    ];
    for (const [query, path] of refusals) {
      const { status, text, error } = await insights(service, tenant, '/query', query);
      expect(status, text).toBe(422);
      expect(error?.code, text).toBe('VALIDATION_ERROR');
      expect(text).toContain(`"path":"${path}`);
    }
  });
});
