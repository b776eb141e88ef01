import { array, assert, asyncProperty, boolean, constantFrom, integer, nat, oneof, record } from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accept, api, newPlayer } from '../../console/events/event-client.ts';
import { runs } from '../../engines/effort.ts';
import { counted, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { ask, column, insights, type Cell, type Insight } from './insight-client.ts';

// The figures of insights against the totals of the players, which the fold counts on another path, over random events of
// two players in any order.

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());

const DAY_MS = 24 * 3_600_000;
const DAYS = 9;
const EUR = { currency: 'EUR' };
const amount = integer({ min: 1, max: 100_000 });
const game = constantFrom('book', 'dead', 'fire');

type Made = [event: string, properties: object];

const casinoBet = record({
  game_id: game,
  stake: amount,
  payout: oneof(nat(0), amount),
  bonus: nat(100),
  way: nat(4),
}).map(({ game_id, stake, payout, bonus, way }): Made[] => {
  const bet = { ...EUR, game_id, game_category: 'slots', amount: stake };
  const bonus_stake = Math.floor((stake * bonus) / 100);
  const placed: Made = ['bet_placed', { ...bet, bonus_stake }];
  const settled: Made = [
    'bet_settled',
    { ...bet, payout, bonus_stake, outcome: payout > 0 ? 'won' : 'lost' },
  ];
  const won: Made = ['bet_won', { ...EUR, payout, bonus_payout: Math.floor((payout * bonus) / 100) }];
  const ways: Made[][] = [
    [settled],
    [placed, won],
    [placed, settled],
    [placed, ['bet_voided', {}]],
    [placed, ['bet_lost', {}]],
  ];
  return ways[way] ?? [];
});
const sportBet = record({ stake: amount, payout: nat(100_000), again: amount, way: nat(3) }).map(
  ({ stake, payout, again, way }): Made[] => {
    const placed: Made = [
      'sport_bet_placed',
      { ...EUR, sport: 'tennis', bet_type: 'single', odds: '2', event_ref: 'm', amount: stake },
    ];
    const settled: Made = ['sport_bet_settled', { ...EUR, payout }];
    const ways: Made[][] = [
      [placed, settled],
      [placed, settled, ['sport_bet_settled', { ...EUR, payout: again }]],
      [placed, ['sport_cashout', { ...EUR, payout: again }]],
      [placed, settled, ['sport_bet_voided', {}]],
    ];
    return ways[way] ?? [];
  },
);
const transaction = record({
  sum: amount,
  back: amount,
  way: nat(6),
  method: constantFrom('card', 'wire'),
}).map(({ sum, back, way, method }): Made[] => {
  const deposit: Made = ['deposit_confirmed', { ...EUR, amount: sum, payment_method: method }];
  const withdrawal: Made = ['withdrawal_confirmed', { ...EUR, amount: sum }];
  const reversal = { ...EUR, amount: back, reversal_id: 'r' };
  const ways: Made[][] = [
    [deposit],
    [deposit, ['deposit_reversed', reversal]],
    [withdrawal],
    [withdrawal, ['withdrawal_reversed', reversal]],
    [['balance_credited', { ...EUR, amount: sum, reason: 'cashback' }]],
    [['balance_debited', { ...EUR, amount: sum, reason: 'fee' }]],
    [['balance_credited', { ...EUR, amount: sum, reason: 'correction' }]],
  ];
  return ways[way] ?? [];
});
const story = record({
  made: oneof(
    casinoBet.map((made) => ({ made, id: 'bet_id' })),
    sportBet.map((made) => ({ made, id: 'bet_id' })),
    transaction.map((made) => ({ made, id: 'transaction_id' })),
  ),
  is_of_ann: boolean(),
  days: array(nat(DAYS - 1), { minLength: 3, maxLength: 3 }),
  ranks: array(nat(), { minLength: 3, maxLength: 3 }),
});

/** Metrics of insights, and what of players they are the sum of. */
const TOTALS: Record<string, (player: Record<string, number>) => number> = {
  wagered: (player) => player['total_wagered'] ?? NaN,
  won: (player) => player['total_won'] ?? NaN,
  ggr: (player) => player['ggr'] ?? NaN,
  bonus_wagered: (player) => player['total_bonus_wagered'] ?? NaN,
  bonus_won: (player) => player['total_bonus_won'] ?? NaN,
  credited: (player) => player['total_credited'] ?? NaN,
  debited: (player) => player['total_debited'] ?? NaN,
  ngr: (player) => player['ngr'] ?? NaN,
  net_deposits: (player) => (player['total_deposited'] ?? NaN) - (player['total_withdrawn'] ?? NaN),
};
const NAMES = Object.keys(TOTALS);

const sum = (cells: readonly Cell[]) => cells.reduce<number>((all, cell) => all + Number(cell), 0);

function expectParts(answer: Insight, metrics: readonly string[]): void {
  const [whole = [], ...groups] = answer.totals;
  for (const metric of metrics) {
    const total = sum(column(answer, [whole], metric));
    const other = answer.other ?? [];
    const rest = sum(column(answer, other.slice(-1), metric));
    expect(sum(column(answer, groups, metric)) + rest, `groups of ${metric}`).toBe(total);
    expect(
      sum(column(answer, [...answer.rows, ...other.slice(0, -1)], metric)),
      `intervals of ${metric}`,
    ).toBe(total);
  }
}

/** Hundredths of a percent of an amount, rounded half to even. */
function shareOf(basis: number, bp: number): number {
  const exact = (Math.abs(basis) * bp) / 10_000;
  const [low, rest] = [Math.floor(exact), exact % 1];
  const rounded = rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
  // Zero has no sign.
  return Math.sign(basis) * rounded + 0;
}

/** Deductions are rounded in each cell, and all else adds the cells. */
function expectDeducted(answer: Insight, bp: number): void {
  const { rows, other } = answer;
  for (const of of [rows, other ?? []].map((one) => one.filter(([at]) => at !== null))) {
    const [ggr, before, duty, fee, ngr] = NET.map((name) => column(answer, of, name).map(Number));
    expect(duty).toEqual(ggr?.map((basis) => shareOf(basis, bp)));
    expect(ngr).toEqual(before?.map((sum, i) => sum - (duty?.[i] ?? NaN) - (fee?.[i] ?? NaN)));
  }
  expectParts(answer, NET);
}
const NET = ['ggr', 'ngr_before_deductions', 'deductions.0', 'deductions.1', 'ngr'];
const NET_SERIES = ['ggr', 'ngr_before_deductions', 'deductions', 'ngr'].map((metric) => ({ metric }));

it('figures add up to the totals of the players, by interval, by group, and player by player', async () => {
  await assert(
    asyncProperty(
      array(story, { minLength: 6, maxLength: 20 }),
      nat(2),
      nat(9_999),
      async (stories, top, bp) => {
        const tenant = await service.newTenant();
        const ids = [
          await newPlayer(service, tenant, { external_id: 'ann' }),
          await newPlayer(service, tenant, { external_id: 'ben' }),
        ];
        const today_ms = Math.floor(Date.now() / DAY_MS) * DAY_MS;
        const events = stories
          .flatMap(({ made: { made, id }, is_of_ann, days, ranks }, n) =>
            made.map(([event, properties], i) => ({
              rank: ranks[i] ?? 0,
              event: {
                event,
                player_id: ids[is_of_ann ? 0 : 1],
                timestamp: new Date(
                  today_ms - (days[i] ?? 0) * DAY_MS - n * 60_000 - i * 1_000 - 1_000,
                ).toISOString(),
                properties: { ...properties, [id]: `story ${n}` },
              },
            })),
          )
          .toSorted((a, b) => a.rank - b.rank)
          .map(({ event }) => event);
        await accept(service, tenant, ...events.slice(0, 60));
        await counted(service.platform);
        const players = await Promise.all(
          ids.map(async (id) => {
            const { data } = await api(service, tenant.session_token, `/v1/players/${id}`);
            return data as Record<string, number>;
          }),
        );
        const range = { last: { days: DAYS + 2 } };
        for (const names of [NAMES.slice(0, 5), NAMES.slice(5)]) {
          const query = { kind: 'trend', range, series: names.map((metric) => ({ metric })) };
          const plain = await ask(service, tenant, query);
          for (const name of names) {
            const expected = players.reduce((all, player) => all + (TOTALS[name]?.(player) ?? NaN), 0);
            expect(column(plain, plain.totals, name), name).toEqual([expected]);
            expect(sum(column(plain, plain.rows, name)), `days of ${name}`).toBe(expected);
          }
          for (const by of ['item', 'product', 'event', 'payment_method'])
            expectParts(
              await ask(service, tenant, { ...query, breakdown: { by, top: top + 1 }, interval: 'week' }),
              names,
            );
          for (const [number, name] of names.entries()) {
            const { status, text, data } = await insights(service, tenant, '/players', {
              query,
              cell: { series: number },
            });
            expect(status, text).toBe(200);
            const found = new Map(
              (data as unknown as { id: string; value: number }[]).map(({ id, value }) => [id, value]),
            );
            expect(
              ids.map((id) => found.get(id) ?? 0),
              `players of ${name}`,
            ).toEqual(players.map((player) => TOTALS[name]?.(player)));
          }
        }
        const deductions = [
          { name: 'Duty', basis: 'ggr', bp },
          { name: 'Fees', basis: 'deposits', bp: 7 },
        ];
        const config = { reporting: { deductions } };
        const configured = await api(service, tenant.session_token, '/v1/tenant/config', {
          method: 'PATCH',
          body: { config },
        });
        expect(configured.status, configured.text).toBe(200);
        const net = { kind: 'trend', range, series: NET_SERIES };
        for (const by of ['item', 'product', 'event', 'payment_method'])
          for (const interval of ['day', 'week'])
            expectDeducted(
              await ask(service, tenant, { ...net, interval, breakdown: { by, top: top + 1 } }),
              bp,
            );
      },
    ),
    { numRuns: runs(5) },
  );
});
