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
import { counted, startTestService, type TestService } from '../../engines/service.ts';
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
  ' a ',
  '00',
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

const DAY_MS = 24 * HOUR_MS;
const iso = (at_ms: number) => new Date(at_ms).toISOString();
const METRICS = [
  ['wagered', 'total_wagered'],
  ['won', 'total_won'],
  ['ggr', 'ggr'],
] as const;

it('a stake counts on its day alone, whenever the bet is settled', async () => {
  const tenant = await service.newTenant();
  const player_id = await newPlayer(service, tenant, { external_id: 'ann' });
  const today_ms = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const of = (bet_id: string, event: string, days_ago: number, properties: object) => ({
    event,
    player_id,
    timestamp: iso(today_ms - days_ago * DAY_MS),
    properties: { ...properties, bet_id },
  });
  const placed = { ...SPORT, amount: 10_000 };
  await accept(
    service,
    tenant,
    of('a', 'sport_bet_placed', 3, placed),
    of('a', 'sport_bet_settled', 0, { amount: 10_000, payout: 0, currency: 'EUR' }),
    // Voided after the day on which it was placed and settled.
    of('b', 'sport_bet_placed', 5, placed),
    of('b', 'sport_bet_settled', 5, { payout: 700, currency: 'EUR' }),
    of('b', 'sport_bet_voided', 1, {}),
    of('c', 'bet_placed', 40, { ...CASINO, amount: 500 }),
    of('c', 'bet_settled', 2, { ...CASINO, amount: 500, payout: 900, outcome: 'won' }),
    of('d', 'bet_settled', 2, { ...CASINO, amount: 20, payout: 0, outcome: 'lost' }),
  );
  await counted(service.platform);
  const series = async (metric: string, first: number, end: number) => {
    const range = `from=${iso(today_ms - first * DAY_MS)}&to=${iso(today_ms + (1 - end) * DAY_MS)}`;
    const path = `/v1/series?metric=${metric}&interval=day&${range}`;
    const { data, status } = await api(service, tenant.session_token, path);
    expect(status).toBe(200);
    return (data as unknown as { points: { value: number }[] }).points.map(({ value }) => value);
  };
  expect(await series('wagered', 5, 0)).toEqual([0, 0, 10_000, 20, 0, 0]);
  expect(await series('won', 5, 0)).toEqual([0, 0, 0, 900, 0, 0]);
  expect(await series('wagered', 0, 0)).toEqual([0]);
  expect(await series('wagered', 5, 5)).toEqual([0]);
  expect(await series('wagered', 2, 1)).toEqual([20, 0]);
  expect((await series('wagered', 40, 0)).reduce((sum, value) => sum + value)).toBe(10_520);
});

it('the days of a range add up to the players’ totals, and a day is the same in every range', async () => {
  await assert(
    asyncProperty(
      array(bet, { minLength: 10, maxLength: 16 }),
      infiniteStream(nat()),
      array(array(nat({ max: 12 }), { minLength: 2, maxLength: 2 }), { minLength: 4, maxLength: 4 }),
      async (bets, order, ranges) => {
        const tenant = await service.newTenant();
        const player_id = await newPlayer(service, tenant, { external_id: 'ann' });
        const today_ms = Math.floor(Date.now() / DAY_MS) * DAY_MS;
        const days = 12;
        const events = bets
          .flatMap(({ id, events: of_bet, extras }, n) =>
            of_bet.map(([event, properties], i) => ({
              rank: order.next().value ?? 0,
              event: { event, player_id, properties: { ...extras[i], ...properties, bet_id: `${id} ${n}` } },
            })),
          )
          .toSorted((a, b) => a.rank - b.rank)
          .slice(0, MAX_EVENTS)
          // In any order over the days; each at a time of its own.
          .map(({ event }, i) => ({
            ...event,
            timestamp: iso(today_ms - ((order.next().value ?? 0) % days) * DAY_MS - i * 60_000 - 1_000),
          }));
        if (events.length === 0) return;
        await accept(service, tenant, ...events);
        await counted(service.platform);
        const answer = async (path: string) => {
          const { status, text } = await api(service, tenant.session_token, path);
          expect(status, text).toBe(200);
          return text;
        };
        const values = async (metric: string, first: number, end: number) => {
          const range = `from=${iso(today_ms - first * DAY_MS)}&to=${iso(today_ms - end * DAY_MS)}`;
          const text = await answer(`/v1/series?metric=${metric}&interval=day&${range}`);
          return [...text.matchAll(/"value":(-?\d+)/g)].map(([, digits]) => BigInt(digits ?? ''));
        };
        const player = await answer(`/v1/players/${player_id}`);
        const all = new Map<string, bigint[]>();
        for (const [metric, total] of METRICS) {
          const of_days = await values(metric, days + 1, 0);
          all.set(metric, of_days);
          const expected = BigInt(new RegExp(`"${total}":(-?\\d+)`).exec(player)?.[1] ?? '');
          expect(
            of_days.reduce((sum, value) => sum + value, 0n),
            metric,
          ).toBe(expected);
        }
        for (const [a = 0, b = 0] of ranges) {
          const [first, end] = [Math.max(a, b) + 1, Math.min(a, b)];
          const overview = await answer(
            `/v1/overview?from=${iso(today_ms - first * DAY_MS)}&to=${iso(today_ms - end * DAY_MS)}`,
          );
          const found = overview.slice(overview.indexOf('"now":'), overview.indexOf('"week_before":'));
          for (const [metric] of METRICS) {
            const part = all.get(metric)?.slice(days + 1 - first, days + 1 - end) ?? [];
            expect(await values(metric, first, end), `${metric} from ${first} to ${end}`).toEqual(part);
            const sum = part.reduce((of_days, value) => of_days + value, 0n);
            expect(BigInt(new RegExp(`"${metric}":(-?\\d+)`).exec(found)?.[1] ?? ''), metric).toBe(sum);
          }
        }
      },
    ),
    { numRuns: runs(6) },
  );
});

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
        await counted(service.platform);
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
        for (const [metric, total] of METRICS) {
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
