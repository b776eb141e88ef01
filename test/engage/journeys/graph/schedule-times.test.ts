import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ScheduleTimes } from '../../../../src/engage/journeys/graph/schedule-times.ts';
import { runs } from '../../../engines/effort.ts';
import { table, wallClock } from './wall-clock.ts';

const MINUTE_MS = 60_000;
const DAY = 1_440;
/** Clocks that are put forward and back by an hour and by half an hour, at night and in the other half of the year. */
const CHANGES = [
  ['Europe/Malta', Date.UTC(2026, 2, 29, 1)],
  ['Europe/Malta', Date.UTC(2026, 9, 25, 1)],
  ['America/New_York', Date.UTC(2026, 10, 1, 6)],
  ['Australia/Lord_Howe', Date.UTC(2026, 3, 4, 15)],
  ['Australia/Lord_Howe', Date.UTC(2026, 9, 3, 15, 30)],
  ['Asia/Kolkata', Date.UTC(2026, 6, 1)],
] as const;

interface Pattern {
  minute: '*' | '*/20' | number;
  hour: '*' | '*/2' | number;
}

/** The minutes of a table in which a daily pattern has a time: walks minute by minute, by the sentence of the documentation. */
function timesIn(shown: readonly number[], { minute, hour }: Pattern): boolean[] {
  const fits = (local: number) => {
    const [now_hour, now_minute] = [Math.floor((local % DAY) / 60), local % 60];
    const is_minute = minute === '*' || (minute === '*/20' ? now_minute % 20 === 0 : now_minute === minute);
    return is_minute && (hour === '*' || (hour === '*/2' ? now_hour % 2 === 0 : now_hour === hour));
  };
  const seen = new Set<number>();
  return shown.map((local, n) => {
    const before = shown[n - 1] ?? local - 1;
    let is_time = fits(local) && (typeof hour === 'string' || !seen.has(local));
    for (let skipped = before + 1; skipped < local; skipped++) is_time ||= fits(skipped);
    seen.add(local);
    return is_time;
  });
}

it('is exact to the minute around changes of clocks', () => {
  const tables = CHANGES.map(([zone, at_ms]) => {
    const first = at_ms / MINUTE_MS - 2 * DAY;
    return { zone, first, shown: table(wallClock(zone), first, 4 * DAY) };
  });
  const pattern: fc.Arbitrary<Pattern> = fc.record({
    minute: fc.oneof(fc.constantFrom('*' as const, '*/20' as const), fc.integer({ min: 0, max: 59 })),
    hour: fc.oneof(fc.constantFrom('*' as const, '*/2' as const), fc.integer({ min: 0, max: 4 })),
  });
  const minutes = fc.integer({ min: 2 * DAY - 200, max: 2 * DAY + 200 });
  fc.assert(
    fc.property(
      fc.constantFrom(...tables),
      pattern,
      minutes,
      fc.nat(59_999),
      ({ zone, first, shown }, daily, n, ms) => {
        const times = timesIn(shown, daily);
        const schedule = new ScheduleTimes(`${daily.minute} ${daily.hour} * * *`, zone);
        const atOf = (index: number) => (index < 0 ? undefined : (first + index) * MINUTE_MS);
        const at_ms = (first + n) * MINUTE_MS + ms;
        expect(schedule.nextAfter(at_ms)).toBe(atOf(times.indexOf(true, n + 1)));
        expect(schedule.latestUpTo(at_ms)).toBe(atOf(times.lastIndexOf(true, n)));
      },
    ),
    { numRuns: runs(1_000) },
  );
});

it('finds times that are years away, and none where there is none', () => {
  const leap = new ScheduleTimes('0 9 29 2 *', 'Europe/Malta');
  expect(leap.nextAfter(Date.UTC(2026, 0, 1))).toBe(Date.UTC(2028, 1, 29, 8));
  expect(leap.latestUpTo(Date.UTC(2026, 0, 1))).toBe(Date.UTC(2024, 1, 29, 8));
  expect(new ScheduleTimes('0 9 30 2 *', 'UTC').nextAfter(0)).toBeUndefined();
  expect(() => new ScheduleTimes('0 9 * * *', 'Mars/Base')).toThrow('there is no time zone "Mars/Base"');
  expect(() => new ScheduleTimes('often', 'UTC')).toThrow();
});
