import { array, assert, asyncProperty, boolean, constantFrom, nat, record } from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accept, newPlayer } from '../../console/events/event-client.ts';
import { runs } from '../../engines/effort.ts';
import { counted, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { ask, column } from './insight-client.ts';

// GGR by game and by category against an oracle of its own, over bets whose outcomes name no game and come in any order.

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());

const GAMES = { book: 'slots', dead: 'live', fire: 'slots' } as const;
type Game = keyof typeof GAMES;

/** Of a bet: debits, each of a game, credits, and whether it is voided or one of the debits is. `sport`: one debit, one credit. */
const bet = record({
  is_sport: boolean(),
  debits: array(
    record({ game: constantFrom<Game[]>('book', 'dead', 'fire'), stake: nat(1_000), at: nat(500) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  credits: array(nat(1_000), { maxLength: 2 }),
  fate: constantFrom('kept', 'kept', 'kept', 'voided', 'first debit voided', 'not placed'),
  ranks: array(nat(1_000), { minLength: 8, maxLength: 8 }),
});
type Bet = typeof bet extends { generate: (...args: never[]) => { value: infer T } } ? T : never;

const START_MS = Date.UTC(2026, 4, 4);

interface Sent {
  event: string;
  timestamp: string;
  properties: Record<string, unknown>;
}

function eventsOf({ is_sport, debits, credits, fate }: Bet, n: number): Sent[] {
  const of = (event: string, at: number, properties: object): Sent => ({
    event,
    timestamp: new Date(START_MS + n * 1_000_000 + at).toISOString(),
    properties: { bet_id: `bet ${n}`, ...properties },
  });
  const money = (amount: number, name: string) => ({ [name]: amount, currency: 'EUR' });
  if (is_sport) {
    const [{ game, stake } = { game: 'book', stake: 0 }] = debits;
    const [payout] = credits;
    const match = { sport: game, bet_type: 'single', odds: '2', event_ref: 'm' };
    return [
      ...(fate === 'not placed' ? [] : [of('sport_bet_placed', 0, { ...money(stake, 'amount'), ...match })]),
      ...(payout === undefined ? [] : [of('sport_bet_settled', 1_000, money(payout, 'payout'))]),
      ...(fate === 'voided' ? [of('sport_bet_voided', 2_000, {})] : []),
    ];
  }
  const placed = debits.map(({ game, stake, at }, i) =>
    of('bet_placed', at, {
      ...money(stake, 'amount'),
      movement_id: `debit ${i}`,
      game_id: game,
      game_category: GAMES[game],
    }),
  );
  return [
    ...(fate === 'not placed' ? [] : placed),
    ...credits.map((payout, i) =>
      of('bet_won', 1_000 + i, { ...money(payout, 'payout'), movement_id: `credit ${i}` }),
    ),
    ...(fate === 'voided' ? [of('bet_voided', 2_000, {})] : []),
    ...(fate === 'first debit voided' ? [of('bet_voided', 2_000, { movement_id: 'debit 0' })] : []),
  ];
}

/** What a bet comes to, by game. */
function expected({ is_sport, debits, credits, fate }: Bet): [game: string, ggr: number][] {
  if (fate === 'voided') return [];
  const order = debits.map((debit, i) => ({ ...debit, i })).toSorted((a, b) => a.at - b.at || a.i - b.i);
  const paid = (is_sport ? credits.slice(0, 1) : credits).reduce((sum, one) => sum + one, 0);
  if (fate === 'not placed') return [['', -paid]];
  const of_bet = is_sport ? (debits[0]?.game ?? '') : (order[0]?.game ?? '');
  const staked = is_sport
    ? order.filter(({ i }) => i === 0)
    : order.filter(({ i }) => fate !== 'first debit voided' || i !== 0);
  return [...staked.map(({ game, stake }): [string, number] => [game, stake]), [of_bet, -paid]];
}

const groupOf = (is_sport: boolean, game: string) => (is_sport ? 'single' : GAMES[game as Game]);

function summed(parts: readonly (readonly [string, number])[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, value] of parts) sums[name] = (sums[name] ?? 0) + value;
  return Object.fromEntries(Object.entries(sums).filter(([, value]) => value !== 0));
}

it('GGR by game is what each bet comes to, in whatever order its events come', async () => {
  await assert(
    asyncProperty(array(bet, { minLength: 4, maxLength: 14 }), async (bets) => {
      const tenant = await service.newTenant();
      const player_id = await newPlayer(service, tenant, { external_id: 'ann' });
      const sent = bets.flatMap((one, n) =>
        eventsOf(one, n).map((event, i) => ({ event: { ...event, player_id }, rank: one.ranks[i] ?? 0 })),
      );
      // In three requests, so that a bet is placed after what it takes back or pays out.
      for (const third of [0, 1, 2]) {
        const of_third = sent.filter(({ rank }) => rank % 3 === third).map(({ event }) => event);
        if (of_third.length > 0) await accept(service, tenant, ...of_third.slice(0, 90));
        await counted(service.platform);
      }
      const range = { from: '2026-05-01T00:00:00Z', to: '2026-06-01T00:00:00Z' };
      const byGame = async (by: string) => {
        const answer = await ask(service, tenant, {
          kind: 'trend',
          range,
          interval: 'month',
          series: [{ metric: 'ggr' }],
          breakdown: { by, top: 25 },
        });
        const names = column(answer, answer.totals, 'group').map((name) =>
          typeof name === 'string' ? name : '',
        );
        const values = column(answer, answer.totals, 'ggr').map(Number);
        return summed(names.map((name, i) => [name, values[i] ?? 0] as const).slice(1));
      };
      const parts = bets.flatMap((one) => expected(one).map(([game, value]) => ({ one, game, value })));
      expect(await byGame('item')).toEqual(summed(parts.map(({ game, value }) => [game, value])));
      expect(await byGame('item_group')).toEqual(
        summed(parts.map(({ one, game, value }) => [game === '' ? '' : groupOf(one.is_sport, game), value])),
      );
    }),
    { numRuns: runs(12) },
  );
});
