import {
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  infiniteStream,
  integer,
  nat,
  oneof,
  record,
  subarray,
} from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runs } from '../../engines/effort.ts';
import { startTestService, sunk, type TestService } from '../../engines/service.ts';
import { accept, api, newPlayer } from '../events/event-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

const HOUR_MS = 3_600_000;
const MAX_EVENTS = 80;

/** Ids as they are hard to read in JSON text: quotes, escapes, control characters, what looks like a field. */
const oddId = constantFrom(
  'plain',
  'with "quotes"',
  String.raw`back\slash\"`,
  '"bet_id":"inner"',
  '\u0001\t\n',
  'ünï→🎰',
  '/slash',
  ' ',
  '0',
);
/** Properties beside those of the catalogue; some have a field of the same name further down. */
const extra = constantFrom<object>(
  {},
  { meta: { bet_id: 'nested' } },
  { list: [{ bet_id: 'nested' }, 'x'] },
  { note: '"bet_id":"in a text"' },
);
const amount = integer({ min: 1, max: 1_000_000 });
const CASINO = { game_id: 'g', game_category: 'slots', currency: 'EUR' };
const SPORT = { sport: 'tennis', bet_type: 'single', odds: '2', event_ref: 'm', currency: 'EUR' };

/** The events of one bet without their times; those of one bet agree in what they say about it, as operators' do. */
const casinoBet = record({
  stake: amount,
  payout: oneof(constant(0), amount),
  names: subarray(['bet_placed', 'bet_settled', 'bet_outcome']),
}).map(({ stake, payout, names }) =>
  names.map((name): [string, object] => {
    if (name === 'bet_placed') return ['bet_placed', { ...CASINO, amount: stake }];
    if (name === 'bet_outcome')
      return payout === 0 ? ['bet_lost', {}] : ['bet_won', { payout, currency: 'EUR' }];
    return ['bet_settled', { ...CASINO, amount: stake, payout, outcome: payout === 0 ? 'lost' : 'won' }];
  }),
);
const sportBet = record({ stake: amount, payouts: array(amount, { minLength: 3, maxLength: 3 }) }).chain(
  ({ stake, payouts: [settled, again, cashed] }) =>
    subarray<[string, object]>([
      ['sport_bet_placed', { ...SPORT, amount: stake }],
      ['sport_bet_settled', { payout: settled, currency: 'EUR', amount: stake }],
      ['sport_bet_settled', { payout: again, currency: 'EUR' }],
      ['sport_cashout', { payout: cashed, currency: 'EUR' }],
      ['sport_bet_voided', {}],
    ]),
);
const bet = record({
  id: oddId,
  events: oneof(casinoBet, sportBet),
  extras: array(extra, { minLength: 5, maxLength: 5 }),
  /** Whether its cash-out, its void and a settlement happened at once: their names decide then. */
  is_at_once: boolean(),
});
const OUTCOMES = ['sport_bet_settled', 'sport_cashout', 'sport_bet_voided'];

it('stakes and payouts of the overview and of its series are those of the players’ totals', async () => {
  await assert(
    asyncProperty(
      array(bet, { minLength: 10, maxLength: 16 }),
      infiniteStream(nat()),
      async (bets, order) => {
        const tenant = await service.newTenant();
        const player_id = await newPlayer(service, tenant, { external_id: 'ann' });
        const now_ms = Date.now();
        const events = bets
          .flatMap(({ id, events: of_bet, extras, is_at_once }, n) =>
            of_bet.map(([event, properties], i) => ({
              rank: order.next().value ?? 0,
              at_ms:
                is_at_once && OUTCOMES.includes(event) && of_bet.findIndex(([other]) => other === event) === i
                  ? now_ms - n
                  : undefined,
              event: { event, player_id, properties: { ...extras[i], ...properties, bet_id: `${id} ${n}` } },
            })),
          )
          .toSorted((a, b) => a.rank - b.rank)
          .slice(0, MAX_EVENTS)
          // Others each at a time of its own: of equal names at equal times the totals take the first that arrived.
          .map(({ event, at_ms }, i) => ({
            ...event,
            timestamp: new Date(at_ms ?? now_ms - 20_000 * (i + 1)).toISOString(),
          }));
        if (events.length === 0) return;
        await accept(service, tenant, ...events);
        await sunk(service.platform);
        const answer = async (path: string) => {
          const { status, text } = await api(service, tenant.session_token, path);
          expect(status, text).toBe(200);
          return text;
        };
        const sum = (text: string, field: string) =>
          [...text.matchAll(new RegExp(`"${field}":(-?\\d+)`, 'g'))].reduce(
            (all, [, digits]) => all + BigInt(digits ?? ''),
            0n,
          );
        const range = `from=${new Date(now_ms - HOUR_MS).toISOString()}&to=${new Date(now_ms + 60_000).toISOString()}`;
        const player = await answer(`/v1/players/${player_id}`);
        const overview = await answer(`/v1/overview?${range}`);
        const found = overview.slice(overview.indexOf('"now":'), overview.indexOf('"week_before":'));
        for (const [metric, total] of [
          ['wagered', 'total_wagered'],
          ['won', 'total_won'],
          ['ggr', 'ggr'],
        ] as const) {
          const expected = sum(player, total);
          expect(sum(found, metric), metric).toBe(expected);
          const series = await answer(`/v1/series?metric=${metric}&interval=hour&${range}`);
          expect(sum(series, 'value'), `series of ${metric}`).toBe(expected);
        }
      },
    ),
    { numRuns: runs(12) },
  );
});
