import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  recompute,
  type TierDecision,
  type TierPlayer,
  type TierRule,
} from '../../../src/players/tiers/recompute.ts';
import { runs } from '../../engines/effort.ts';
import { tierAfter, type OraclePlayer, type OracleTier } from './tier-oracle.ts';

const DAY_MS = 86_400_000;
const CODES = ['a', 'b', 'c', 'd', 'e'];
/** Whole halves of a day: sums and differences of them are exact. */
const halfDays = (min: number, max: number) => fc.integer({ min: 2 * min, max: 2 * max }).map((n) => n / 2);

const tier = (i: number): fc.Arbitrary<OracleTier> =>
  fc.record({
    code: fc.constant(CODES[i] ?? ''),
    rank: fc.constant(i * 10),
    on: fc.boolean(),
    deposits: fc.integer({ min: 0, max: 4 }),
    stakes: fc.integer({ min: 0, max: 4 }),
    days: fc.integer({ min: 0, max: 10 }),
    inactivity: fc.option(fc.integer({ min: 1, max: 20 })),
    grace: fc.integer({ min: 0, max: 5 }),
    checks: fc.boolean(),
  });
const tiersOf = fc
  .tuple(...CODES.map((_, i) => tier(i)))
  .chain((all) => fc.shuffledSubarray(all, { minLength: 0, maxLength: CODES.length }));
const time = halfDays(-60, 0);
const playerOf: fc.Arbitrary<OraclePlayer> = fc.record({
  status: fc.constantFrom('active', 'active', 'active', 'conflict', 'self_excluded', 'banned', 'deleted'),
  code: fc.option(fc.constantFrom(...CODES)),
  promoted: fc.option(time),
  demoted: fc.option(time),
  locked: fc.boolean(),
  deposits: fc.integer({ min: 0, max: 5 }),
  stakes: fc.integer({ min: 0, max: 5 }),
  first: time,
  active: time,
});

const NOW_MS = Date.UTC(2026, 5, 1);
const msOf = (days: number) => NOW_MS + days * DAY_MS;
const orNull = (days: number | null) => (days === null ? null : msOf(days));

function ruleOf(tier: OracleTier): TierRule {
  return {
    code: tier.code,
    rank: tier.rank,
    is_active: tier.on,
    deposit_subunit: BigInt(tier.deposits),
    wagered_subunit: BigInt(tier.stakes),
    min_days_active: tier.days,
    inactivity_days: tier.inactivity,
    grace_days: tier.grace,
    needs_checks: tier.checks,
  };
}

function inputOf(player: OraclePlayer): TierPlayer {
  return {
    status: player.status,
    code: player.code,
    promoted_ms: orNull(player.promoted),
    demoted_ms: orNull(player.demoted),
    pending_code: null,
    locked: player.locked,
    total_deposited: BigInt(player.deposits),
    total_wagered: BigInt(player.stakes),
    first_seen_ms: msOf(player.first),
    last_active_ms: msOf(player.active),
  };
}

const rankIn = (tiers: readonly TierRule[], code: string | null) =>
  tiers.find((one) => one.code === code)?.rank ?? -1;

describe('recompute', () => {
  it('agrees with the oracle', () => {
    fc.assert(
      fc.property(playerOf, tiersOf, (player, tiers) => {
        const decision = recompute(inputOf(player), tiers.map(ruleOf), NOW_MS);
        expect(decision.code).toBe(tierAfter(player, tiers, 0));
        expect(decision.change === undefined).toBe(decision.reason !== undefined);
      }),
      { numRuns: runs(8_000) },
    );
  });

  it('never changes the tier of the protected', () => {
    fc.assert(
      fc.property(playerOf, tiersOf, (player, tiers) => {
        for (const status of ['self_excluded', 'banned', 'deleted']) {
          const decision = recompute(inputOf({ ...player, status }), tiers.map(ruleOf), NOW_MS);
          expect(decision).toMatchObject({ code: player.code, change: undefined, reason: status });
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it('computed again at once says nothing new, and nothing changes before the time that it names', () => {
    fc.assert(
      fc.property(playerOf, tiersOf, halfDays(0, 40), (player, tiers, later) => {
        const rules = tiers.map(ruleOf);
        const input = inputOf(player);
        const first = recompute(input, rules, NOW_MS);
        if (first.change?.trigger === 'reset') return;
        const next = recompute({ ...input, ...stateOf(first) }, rules, NOW_MS);
        expect(next.change).toBeUndefined();
        const at_ms = msOf(later);
        if (first.due_ms !== null && at_ms >= first.due_ms) return;
        expect(recompute({ ...input, ...stateOf(first) }, rules, at_ms).code).toBe(first.code);
      }),
      { numRuns: runs(3_000) },
    );
  });
});

it('a player whose first event is ahead of this clock has the tier that requires no days', () => {
  const player = inputOf({
    status: 'active',
    code: null,
    promoted: null,
    demoted: null,
    locked: false,
    deposits: 0,
    stakes: 0,
    first: 0,
    active: 0,
  });
  const rule = ruleOf({
    code: 'a',
    rank: 0,
    on: true,
    deposits: 0,
    stakes: 0,
    days: 0,
    inactivity: null,
    grace: 0,
    checks: false,
  });
  // The event was received by another machine, whose clock is 50 ms ahead.
  const decision = recompute(player, [rule], NOW_MS - 50);
  expect(decision).toMatchObject({
    code: 'a',
    due_ms: null,
    change: { context: { met: { days_active: 0 } } },
  });
});

function stateOf({ code, promoted_ms, demoted_ms, pending_code }: TierDecision) {
  return { code, promoted_ms, demoted_ms, pending_code };
}

const YEAR_DAYS = 365;
interface Move {
  at_ms: number;
  from: number;
  to: number;
}

/** What a player does on one day, and whether the service looks at him for another reason. */
const dayOf = fc.record({
  stake: fc.integer({ min: 0, max: 3 }),
  deposit: fc.integer({ min: 0, max: 3 }),
  hour: fc.integer({ min: 0, max: 23 }),
  looks: fc.integer({ min: 0, max: 2 }),
});
/** Days of activity: bursts, and long pauses between them. */
const daysOf = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 60 }), dayOf), { minLength: 1, maxLength: 30 })
  .map((parts) => {
    const days = new Map<number, (typeof parts)[number][1]>();
    let at = 0;
    for (const [pause, day] of parts) {
      at += pause;
      if (at < YEAR_DAYS) days.set(at, day);
      at++;
    }
    return days;
  });

/** One year of a player: activity, looks when totals cross, and the daily look at what is due. */
function liveAYear(tiers: readonly TierRule[], days: ReadonlyMap<number, { [key: string]: number }>) {
  let player: TierPlayer = {
    ...inputOf({
      status: 'active',
      code: null,
      promoted: null,
      demoted: null,
      locked: false,
      deposits: 0,
      stakes: 0,
      first: 0,
      active: 0,
    }),
  };
  const moves: Move[] = [];
  const activity: number[] = [];
  let due_ms: number | null = null;
  const look = (at_ms: number) => {
    const decision = recompute(player, tiers, at_ms);
    if (decision.change !== undefined) {
      moves.push({ at_ms, from: rankIn(tiers, player.code), to: rankIn(tiers, decision.code) });
    }
    player = { ...player, ...stateOf(decision) };
    ({ due_ms } = decision);
  };
  for (let day = 0; day < YEAR_DAYS; day++) {
    const start_ms = NOW_MS + day * DAY_MS;
    // The sweep of the day takes only players whose time has come.
    if (due_ms !== null && due_ms <= start_ms) look(start_ms);
    const done = days.get(day);
    if (done === undefined) continue;
    // After the sweep of the day, which takes a moment of its own.
    const at_ms = start_ms + (done['hour'] ?? 0) * 3_600_000 + 1_000;
    const was_down = player.demoted_ms !== null;
    player = {
      ...player,
      last_active_ms: at_ms,
      total_deposited: player.total_deposited + BigInt(done['deposit'] ?? 0),
      total_wagered: player.total_wagered + BigInt(done['stake'] ?? 0),
    };
    activity.push(at_ms);
    if (was_down || (done['deposit'] ?? 0) + (done['stake'] ?? 0) > 0) look(at_ms);
    for (let i = 0; i < (done['looks'] ?? 0); i++) look(at_ms + i * 60_000);
  }
  return { moves, activity };
}

it('in a simulated year no tier flaps: up only by activity after a demotion, down one rank per full period', () => {
  let changes = 0;
  let flaps = 0;
  const numRuns = runs(1_500);
  fc.assert(
    fc.property(tiersOf, daysOf, (given, days) => {
      const tiers = given.map((one) => ruleOf({ ...one, on: true, checks: false }));
      const { moves, activity } = liveAYear(tiers, days);
      changes += moves.length;
      const ranks = tiers.map(({ rank }) => rank).sort((a, b) => b - a);
      for (const [i, move] of moves.entries()) {
        const before = moves[i - 1];
        const acted = (from_ms: number) => activity.some((at) => at > from_ms && at <= move.at_ms);
        const went_down = before !== undefined && before.to < before.from;
        if (move.to > move.from) {
          if (went_down && !acted(before.at_ms)) flaps++;
          continue;
        }
        expect(move.to).toBe(ranks.find((rank) => rank < move.from) ?? -1);
        const left = tiers.find(({ rank }) => rank === move.from);
        const period_ms = ((left?.inactivity_days ?? Infinity) + (left?.grace_days ?? 0)) * DAY_MS;
        const since_ms = Math.max(before?.at_ms ?? 0, ...activity.filter((at) => at <= move.at_ms));
        if (move.at_ms - since_ms < period_ms) flaps++;
      }
    }),
    { numRuns },
  );
  expect(changes).toBeGreaterThan(numRuns);
  expect(flaps).toBe(0);
});
