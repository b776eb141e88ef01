import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countBets } from '../../../src/bonuses/wagering/count.ts';
import { Recounter, type RecountDeps } from '../../../src/bonuses/wagering/recount.ts';
import { retryConflicts } from '../../../src/platform/postgres/retry.ts';
import { runs } from '../../engines/effort.ts';
import { at, betOf, insertGrant, mergeInto, openWagering, type Wagering } from './wagering-fixture.ts';
import { owed, type ToldBet, type ToldGrant } from './wagering-oracle.ts';

let on: Wagering;
beforeAll(async () => {
  on = await openWagering();
});
afterAll(async () => on?.close());

const minutes = fc.integer({ min: 0, max: 40 });
const percent = fc.constantFrom(0, 1, 10, 33, 100);
const currency = fc.constantFrom('EUR' as const, 'EUR' as const, 'USD' as const);
/** Who bets, and who has the grant: both turn out to be one player. */
const who = fc.constantFrom(0 as const, 1 as const);
const states = ['placed', 'settled', 'settled', 'voided', 'cashed_out'] as const;

interface StoryBet extends ToldBet {
  who: 0 | 1;
}

const bet = (id: number): fc.Arbitrary<StoryBet[]> =>
  fc
    .record({
      who,
      currency,
      kind: fc.constantFrom('casino' as const, 'sport' as const),
      category: fc.constantFrom(null, 'slots', 'live', 'table', 'unheard'),
      stakes: fc.array(fc.constantFrom(0n, 1n, 3n, 99n, 100n, 199n, 10_001n), { minLength: 3, maxLength: 3 }),
      minutes: fc.array(minutes, { minLength: 3, maxLength: 3 }),
      states: fc.array(fc.constantFrom(...states), { minLength: 1, maxLength: 3 }),
    })
    .map(({ stakes, minutes: times, states: of, ...one }) =>
      of.map((state, i) => ({
        ...one,
        bet_id: `b${id}`,
        state,
        stake: stakes[i] ?? 0n,
        minute: times[i] ?? 0,
        revision: i + 1,
      })),
    );

const grant: fc.Arbitrary<Omit<ToldGrant, 'grant_id'>> = fc.record({
  product: fc.constantFrom('any', 'casino', 'betting'),
  currency,
  table: fc.oneof(
    fc.constant(null),
    fc.record<Record<string, number>>({ slots: percent, sport: percent }),
    fc.record<Record<string, number>>({ default: percent, live: percent }),
  ),
  max_bet: fc.constantFrom(null, 99n, 10_000n),
  from: fc.option(minutes, { freq: 6 }),
  until: fc.option(minutes),
});

/** Reports of bets, changes of grants and a merge, in an order of arrival with repeats. */
const story = fc
  .record({
    // Each of the two has one, so that their bets are recorded.
    grants: fc.array(grant, { minLength: 2, maxLength: 5 }),
    bets: fc
      .integer({ min: 1, max: 14 })
      .chain((n) => fc.tuple(...Array.from({ length: n }, (_, i) => bet(i)))),
  })
  .chain(({ grants, bets }) => {
    const reports = bets.flat();
    const moment = fc.integer({ min: 0, max: 2 * reports.length });
    return fc.record({
      grants: fc.constant(grants),
      order: fc.shuffledSubarray(reports, { minLength: reports.length }),
      repeats: fc.shuffledSubarray(reports),
      moments: fc.array(moment, { minLength: 2 * grants.length, maxLength: 2 * grants.length }),
      merge_at: moment,
      batch: fc.integer({ min: 1, max: 9 }),
    });
  });
type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;

/** Lets the story happen to new players: recounts run beside batches and beside the merge. */
async function live({ grants, order, repeats, moments, merge_at, batch }: Story) {
  const { sql, project, platform } = on;
  const recounter = new Recounter(platform as RecountDeps);
  const arrivals = [...order, ...repeats];
  const players = [randomUUID(), randomUUID()] as const;
  const told = grants.map((one) => ({ ...one, grant_id: randomUUID() }));
  for (const [i, { grant_id, product, table, max_bet, currency: of }] of told.entries()) {
    await insertGrant(on, {
      grant_id,
      player_id: players[i % 2],
      terms: { product, game_contribution: table },
      currency: of,
      max_bet: max_bet === null ? null : String(max_bet),
      activated_at: null,
    });
  }
  let is_merged = false;
  const merge = async () => {
    is_merged = true;
    await retryConflicts(() => mergeInto(on, players[1], players[0]));
  };
  for (let from = 0; from <= arrivals.length; from += batch) {
    const is_now = (moment = 0) => moment >= from && moment < from + batch;
    for (const [i, { grant_id, from: start, until }] of told.entries()) {
      if (start !== null && is_now(moments[2 * i]))
        await sql`update bonus_grants set activated_at = ${at(start)} where grant_id = ${grant_id}`;
      if (until !== null && is_now(moments[2 * i + 1]))
        await sql`update bonus_grants set expires_at = ${at(until)} where grant_id = ${grant_id}`;
    }
    const reports = arrivals
      .slice(from, from + batch)
      .map(({ category, minute, revision, bet_id, who: player, ...rest }) =>
        betOf(players[player], {
          ...rest,
          bet_id: `${players[0]} ${bet_id}`,
          game_category: category,
          occurred_at_ms: at(minute).getTime(),
          revision: BigInt(revision),
        }),
      );
    await Promise.all([
      retryConflicts(() => sql.begin((tx) => countBets(tx, project, reports, new Date()))),
      from % 3 === 0 ? recounter.turn() : undefined,
      is_now(merge_at) ? merge() : undefined,
    ]);
  }
  for (const { grant_id, from, until } of told) {
    await sql`update bonus_grants set activated_at = ${from === null ? null : at(from)},
      expires_at = ${until === null ? null : at(until)} where grant_id = ${grant_id}`;
  }
  if (!is_merged) await merge();
  // One that starts anew: a grant that failed meanwhile rests for some seconds in the first.
  await new Recounter(platform as RecountDeps).turn();
  return { told, arrivals, prefix: `${players[0]} ` };
}

it('gives the same sums in whatever order bets, voids, credits, ends and merges arrive', async () => {
  const { sql } = on;
  await fc.assert(
    fc.asyncProperty(story, async (one) => {
      const { told, arrivals, prefix } = await live(one);
      const expected = owed(arrivals, told);
      for (const { grant_id } of told) {
        const [row] = await sql<Record<string, string>[]>`
          select g.wagering_sum::text as sum, g.wagering_progress::text as progress,
            g.max_bet_breaches::text as breaches,
            (select coalesce(sum(contribution), 0)::text from bonus_contributions where grant_id = g.grant_id) as rows
          from bonus_grants g where grant_id = ${grant_id}`;
        const broken = await sql<{ bet_id: string }[]>`
          select bet_id from bonus_breaches where grant_id = ${grant_id} order by bet_id collate "C"`;
        const { sum, breaches } = expected.get(grant_id) ?? { sum: 0n, breaches: [] };
        expect(row).toEqual({
          sum: String(sum),
          progress: String(sum / 100n),
          breaches: String(breaches.length),
          rows: String(sum),
        });
        expect(broken.map(({ bet_id }) => bet_id.slice(prefix.length))).toEqual(breaches);
      }
    }),
    { numRuns: runs(60) },
  );
});
