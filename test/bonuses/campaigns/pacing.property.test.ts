import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  dayLimitOf,
  isNearlyUsed,
  waitsUntil,
  STEP_MS,
  type BudgetDay,
  type DailyBudget,
} from '../../../src/bonuses/campaigns/pacing.ts';
import { MIN_DAYS, MIN_PLAYERS, profileFrom } from '../../../src/bonuses/campaigns/profile.ts';
import { Room } from '../../../src/bonuses/campaigns/room.ts';
import { TimeZone, UTC_ZONE } from '../../../src/platform/time-zone.ts';
import { runs } from '../../engines/effort.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const zoneNamed = (name: string) => TimeZone.named(name) ?? UTC_ZONE;

/** Zones with half hours, with changes of half an hour, with changes at midnight, and without any. */
const ZONES = [
  'UTC',
  'Europe/Malta',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Asia/Beirut',
  'Pacific/Kiritimati',
];
const BEGIN_MS = Date.UTC(2023, 0, 1);

const zone = fc.constantFrom(...ZONES).map(zoneNamed);
const minute_ms = fc.integer({ min: 0, max: 730 * 1_440 }).map((minute) => BEGIN_MS + minute * MINUTE_MS);
/** Days on which some of these clocks change, and others. */
const at_ms = fc.oneof(
  minute_ms,
  fc
    .tuple(
      fc.constantFrom('2023-03-26', '2023-10-29', '2023-03-12', '2023-11-05', '2023-04-02', '2023-10-01'),
      fc.integer({ min: -1_440, max: 2_880 }),
    )
    .map(([date, minutes]) => Date.parse(`${date}T00:00:00Z`) + minutes * MINUTE_MS),
);
const hours = fc.oneof(
  fc.constant(Array.from({ length: 24 }, () => 1)),
  fc.array(fc.nat(1_000_000), { minLength: 24, maxLength: 24 }),
  fc.array(fc.constantFrom(0, 0, 0, 5), { minLength: 24, maxLength: 24 }),
);
const budget_base = fc.bigInt(1n, 10n ** 15n);
const plan = fc.record({
  budget_base,
  pace: fc.constantFrom('even' as const, 'asap' as const),
  zone,
  hours,
});

/** What Node's own rules of zones say of a moment: the local date, and the hour of the day. */
function clockOf(name: string) {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: name,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
  });
  return (ms: number) => {
    const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    return { date: `${parts['year']}-${parts['month']}-${parts['day']}`, hour: Number(parts['hour']) };
  };
}

/** The minutes of the local day of a moment, each with the weight of its hour. */
function minutesOf({ zone: { name }, hours: weights }: DailyBudget, ms: number) {
  const clock = clockOf(name);
  const { date } = clock(ms);
  const minutes: { from_ms: number; weight: bigint }[] = [];
  const first_ms = Math.floor(ms / MINUTE_MS) * MINUTE_MS - 26 * 60 * MINUTE_MS;
  // Whole quarters of an hour, at which all clocks change.
  for (
    let quarter_ms = first_ms - (first_ms % 900_000);
    quarter_ms <= ms + 26 * 3_600_000;
    quarter_ms += 900_000
  ) {
    const at = clock(quarter_ms);
    if (at.date !== date) continue;
    for (let n = 0; n < 15; n++)
      minutes.push({ from_ms: quarter_ms + n * MINUTE_MS, weight: BigInt(weights[at.hour] ?? 0) });
  }
  const is_plain = minutes.every(({ weight }) => weight === 0n);
  return minutes.map((one) => (is_plain ? { ...one, weight: 1n } : one));
}

it('of a day as much is allowed as minutes with their weights have passed, whatever the clocks do', () => {
  fc.assert(
    fc.property(plan, at_ms, (of, now_ms) => {
      const minutes = minutesOf(of, now_ms);
      const [first] = minutes;
      const { day, allowed_base } = dayLimitOf(of, null, now_ms);
      expect(day).toEqual({
        from_ms: first?.from_ms,
        to_ms: (minutes.at(-1)?.from_ms ?? 0) + MINUTE_MS,
        used_base: 0n,
      });
      const sum = (some: typeof minutes) => some.reduce((all, { weight }) => all + weight, 0n);
      // Those of the step that has begun, too.
      const step_end_ms = now_ms - (now_ms % STEP_MS) + STEP_MS;
      const passed = sum(minutes.filter(({ from_ms }) => from_ms < step_end_ms));
      expect(allowed_base).toBe(
        of.pace === 'asap' ? of.budget_base : (of.budget_base * passed) / sum(minutes),
      );
      // The whole budget before the end, and never more.
      const end = dayLimitOf(of, day, day.to_ms - 1);
      expect(end.allowed_base).toBe(of.budget_base);
    }),
    { numRuns: runs(500) },
  );
});

it('who waits is decided about when there is room, and not before', () => {
  fc.assert(
    fc.property(plan, at_ms, fc.nat(100), fc.nat(100), (of, now_ms, used_percent, cost_percent) => {
      const share = (percent: number) => (of.budget_base * BigInt(percent)) / 100n;
      const fresh = dayLimitOf(of, null, now_ms).day;
      const limit = dayLimitOf(of, { ...fresh, used_base: share(used_percent) }, now_ms);
      const cost = share(cost_percent) + 1n;
      const needed = limit.day.used_base + cost;
      if (needed <= limit.allowed_base) return;
      const until_ms = waitsUntil(of, limit, cost, now_ms);
      expect(until_ms).toBeGreaterThan(now_ms);
      expect(until_ms).toBeLessThanOrEqual(limit.day.to_ms);
      const allowedAt = (ms: number) => dayLimitOf(of, limit.day, ms).allowed_base;
      expect(allowedAt(until_ms - 1)).toBeLessThan(needed);
      if (until_ms < limit.day.to_ms) expect(allowedAt(until_ms)).toBeGreaterThanOrEqual(needed);
    }),
    { numRuns: runs(1_000) },
  );
});

it('a day that ends with other clocks keeps what was used, and days never overlap', () => {
  const step = fc.record({
    zone,
    minutes: fc.integer({ min: 1, max: 900 }),
    wanted: fc.bigInt(0n, 120n),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), at_ms, (steps, begin_ms) => {
      let now_ms = begin_ms;
      let stored: BudgetDay | null = null;
      const days: BudgetDay[] = [];
      for (const { zone: of_now, minutes, wanted } of steps) {
        now_ms += minutes * MINUTE_MS;
        const of: DailyBudget = { budget_base: 100n, pace: 'asap', zone: of_now, hours: [] };
        const { day, allowed_base } = dayLimitOf(of, stored, now_ms);
        const left = allowed_base - day.used_base;
        stored = { ...day, used_base: day.used_base + (wanted < left ? wanted : left) };
        expect(stored.used_base).toBeLessThanOrEqual(100n);
        expect(day.from_ms <= now_ms && now_ms < day.to_ms).toBe(true);
        if (days.at(-1)?.from_ms === stored.from_ms) days.pop();
        days.push(stored);
      }
      for (const [n, { from_ms }] of days.entries())
        if (n > 0) expect(from_ms).toBeGreaterThanOrEqual(days[n - 1]?.to_ms ?? Infinity);
    }),
    { numRuns: runs(500) },
  );
});

it('nothing is taken before the day of another process whose clock is ahead', () => {
  const of: DailyBudget = { budget_base: 100n, pace: 'asap', zone: UTC_ZONE, hours: [] };
  const ahead = { from_ms: DAY_MS, to_ms: 2 * DAY_MS, used_base: 7n };
  const limit = dayLimitOf(of, ahead, DAY_MS - 1);
  expect(limit).toEqual({ budget_base: 100n, allowed_base: 0n, day: ahead });
  expect(waitsUntil(of, limit, 1n, DAY_MS - 1)).toBe(DAY_MS);
});

/** Decides about members of these costs from a moment on, as the service does, until the day ends. */
function playDay(of: DailyBudget, costs: readonly bigint[], begin_ms: number) {
  const end_ms = dayLimitOf(of, null, begin_ms).day.to_ms;
  let waiting = costs.map((cost, at) => ({ player_id: String(at), cost }));
  let stored: BudgetDay | null = null;
  let looks = 0;
  for (let now_ms = begin_ms; now_ms < end_ms && waiting.length > 0; looks++) {
    const limit = dayLimitOf(of, stored, now_ms);
    const room = new Room(
      { budget_base: null },
      { max_liability: null, max_grants: null, daily_budget_base: of.budget_base },
      { template_base: 0n, campaign_base: 0n, campaign_grants: 0 },
      limit,
    );
    waiting = waiting.filter(
      ({ player_id, cost }) => room.takeDrawn(cost, [{ player_id, by: null }]).waiting.length > 0,
    );
    expect(room.day_used_base).toBeLessThanOrEqual(limit.allowed_base);
    stored = { ...limit.day, used_base: room.day_used_base };
    const cheapest = waiting.reduce(
      (least, { cost }) => (cost < least ? cost : least),
      waiting[0]?.cost ?? 0n,
    );
    if (waiting.length > 0) now_ms = waitsUntil(of, { ...limit, day: stored }, cheapest, now_ms);
  }
  return { used_base: stored?.used_base ?? 0n, waiting: waiting.length, looks };
}

it('of the budget of a day 98 % are used when enough is asked for, in few looks', () => {
  fc.assert(
    fc.property(
      fc.record({ pace: fc.constantFrom('even' as const, 'asap' as const), zone, hours }),
      at_ms,
      // Each at most 1.5 % of the budget, together more than all of it.
      fc.array(fc.bigInt(10_000n, 15_000n), { minLength: 105, maxLength: 120 }),
      (rest, ms, costs) => {
        const of = { ...rest, budget_base: 1_000_000n };
        const { from_ms, to_ms } = dayLimitOf(of, null, ms).day;
        const { used_base, waiting, looks } = playDay(of, costs, from_ms);
        expect(waiting).toBeGreaterThan(0);
        expect(used_base).toBeLessThanOrEqual(of.budget_base);
        expect(used_base).toBeGreaterThanOrEqual((of.budget_base * 98n) / 100n);
        expect(looks).toBeLessThanOrEqual((to_ms - from_ms) / STEP_MS);
        if (of.pace === 'asap') expect(looks).toBe(1);
      },
    ),
    { numRuns: runs(50) },
  );
});

it('a look goes on for cheaper members only while more than a hundredth is free', () => {
  expect(isNearlyUsed({ budget_base: 1_000n, allowed_base: 1_000n }, 990n)).toBe(true);
  expect(isNearlyUsed({ budget_base: 1_000n, allowed_base: 1_000n }, 989n)).toBe(false);
  expect(isNearlyUsed({ budget_base: 1_000n, allowed_base: 300n }, 295n)).toBe(true);
});

it('who costs more than a day is short, who finds no room today waits, and so do those who are held out', () => {
  const of: DailyBudget = { budget_base: 100n, pace: 'asap', zone: UTC_ZONE, hours: [] };
  const limits = { max_liability: 1_000n, max_grants: null, daily_budget_base: 100n };
  const used = { template_base: 0n, campaign_base: 0n, campaign_grants: 0 };
  const room = new Room({ budget_base: null }, limits, used, dayLimitOf(of, null, DAY_MS));
  const member = (player_id: string, by: 'experiment' | null = null) => ({ player_id, by });
  expect(room.takeDrawn(101n, [member('a'), member('b', 'experiment')])).toMatchObject({
    short: ['a', 'b'],
    waiting: [],
  });
  expect(room.takeDrawn(40n, [member('a'), member('b'), member('c', 'experiment'), member('d')])).toEqual({
    granted: ['a', 'b'],
    held_out: [],
    short: [],
    waiting: ['c', 'd'],
  });
  expect(room.takeDrawn(20n, [member('e', 'experiment'), member('f')])).toMatchObject({
    granted: ['f'],
    held_out: [{ player_ids: ['e'], code: 'HOLDOUT' }],
  });
  // What costs nothing needs no room.
  expect(room.takeDrawn(0n, [member('g')])).toMatchObject({ granted: ['g'] });
});

it('a profile counts the hours that the clocks show, and none where there is too little', () => {
  const of = zoneNamed('Asia/Kolkata');
  const quarter = (iso: string) => Date.parse(iso) / 900_000;
  const days = Array.from({ length: MIN_DAYS }, (_, n) => `2026-03-0${n + 1}`);
  // 18:30 UTC is midnight there.
  const quarters = days.flatMap((day) => [
    { quarter: quarter(`${day}T18:30:00Z`), players: 100 },
    { quarter: quarter(`${day}T19:15:00Z`), players: 50 },
    { quarter: quarter(`${day}T19:30:00Z`), players: 20 },
  ]);
  const counted = profileFrom(of, quarters);
  expect(counted?.slice(0, 3)).toEqual([150 * MIN_DAYS, 20 * MIN_DAYS, 0]);
  expect(profileFrom(of, quarters.slice(3))).toBeNull();
  const few = quarters.map((one) => ({ ...one, players: 1 }));
  expect(few.length).toBeLessThan(MIN_PLAYERS);
  expect(profileFrom(of, few)).toBeNull();
});
