import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isQuiet, quietUntilMs, quietZones } from '../../../src/engage/messaging/quiet-hours.ts';
import { runs } from '../../engines/effort.ts';
import { NODE_ZONES } from '../../engines/time-zones.ts';

const ZONES = NODE_ZONES;
const WINDOWS = [
  { start: '22:00', end: '08:00' },
  { start: '01:00', end: '02:00' },
  { start: '02:00', end: '03:00' },
  { start: '02:30', end: '02:31' },
  { start: '23:59', end: '00:01' },
  { start: '00:00', end: '23:59' },
  { start: '09:00', end: '09:00' },
];
const MINUTE = 60_000;
const YEAR = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)] as const;

/** Minutes since midnight in a zone, by the platform's own formatter. */
function clockOf(time_zone: string): (at_ms: number) => number {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: time_zone,
    hourCycle: 'h23',
    hour: '2-digit',
    minute: '2-digit',
  });
  return (at_ms) => {
    const parts = Object.fromEntries(format.formatToParts(at_ms).map(({ type, value }) => [type, value]));
    return Number(parts['hour']) * 60 + Number(parts['minute']);
  };
}

/** The minutes of the window; walks minute by minute, without the case distinctions of the code. */
function minutesOf({ start, end }: { start: string; end: string }): Set<number> {
  const minute = (time: string) => time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  const minutes = new Set<number>();
  for (let at = minute(start); at !== minute(end); at = (at + 1) % 1440) minutes.add(at);
  return minutes;
}

/** The instants, to the minute, at which the zone's clock changes during the year. */
function jumpsOf(clock: (at_ms: number) => number): number[] {
  const offset = (at: number) => (((clock(at) - Math.floor(at / MINUTE)) % 1440) + 1440) % 1440;
  const jumps: number[] = [];
  const day = 86_400_000;
  for (let from = YEAR[0]; from < YEAR[1]; from += day) {
    if (offset(from) === offset(from + day)) continue;
    let [low, high] = [from, from + day];
    while (high - low > MINUTE) {
      const middle = low + Math.floor((high - low) / 2 / MINUTE) * MINUTE;
      if (offset(middle) === offset(from)) low = middle;
      else high = middle;
    }
    jumps.push(high);
  }
  return jumps;
}

describe('around every clock change of 2026', () => {
  it('agrees with the clock of every zone', () => {
    const covered = WINDOWS.map(minutesOf);
    const around = [-61, -60, -59, -31, -30, -1, 0, 1, 29, 30, 31, 59, 60, 61, 120].map((m) => m * MINUTE);
    let jumps = 0;
    for (const zone of ZONES) {
      const clock = clockOf(zone);
      const edges = jumpsOf(clock);
      jumps += edges.length;
      // For zones without clock changes, any instants of the year will do.
      for (const edge of edges.length > 0 ? edges : [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 9, 25, 1)]) {
        for (const at_ms of around.flatMap((by) => [edge + by, edge + by - 1])) {
          const shown = clock(at_ms);
          for (const [i, window] of WINDOWS.entries()) {
            if (isQuiet(window, zone, at_ms) !== covered[i]?.has(shown))
              expect.fail(`${zone} ${new Date(at_ms).toISOString()} ${JSON.stringify(window)}`);
          }
        }
      }
    }
    expect(ZONES.length).toBeGreaterThan(400);
    expect(jumps).toBeGreaterThan(200);
  }, 60_000);

  it('is quiet twice in an hour that occurs twice, and never in one that is skipped', () => {
    const window = { start: '02:30', end: '03:00' };
    const quietMinutes = (from: number) =>
      Array.from({ length: 240 }, (_, m) => isQuiet(window, 'Europe/Malta', from + m * MINUTE)).filter(
        Boolean,
      );
    expect(quietMinutes(Date.UTC(2026, 9, 24, 23))).toHaveLength(60);
    expect(quietMinutes(Date.UTC(2026, 2, 28, 23))).toHaveLength(0);
    expect(quietMinutes(Date.UTC(2026, 5, 14, 23))).toHaveLength(30);
  });
});

it('agrees with the formatter for any window, zone and time', () => {
  const time = fc
    .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));
  const at = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2037, 0, 1) });
  fc.assert(
    fc.property(time, time, fc.constantFrom(...ZONES), at, (start, end, zone, at_ms) => {
      const rules = { start, end };
      expect(isQuiet(rules, zone, at_ms)).toBe(minutesOf(rules).has(clockOf(zone)(at_ms)));
    }),
    { numRuns: runs(500) },
  );
});

it('ends with the first minute that is not quiet, also where clocks are changed meanwhile', () => {
  const time = fc.integer({ min: 0, max: 1439 }).map((minute) => {
    return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');
  });
  const zone = fc.constantFrom(
    'Europe/Malta',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
    'UTC',
  );
  const around = fc.constantFrom(
    ...['Europe/Malta', 'America/New_York', 'Australia/Lord_Howe'].flatMap((one) => jumpsOf(clockOf(one))),
  );
  const by = fc.integer({ min: -1_500 * MINUTE, max: 300 * MINUTE });
  fc.assert(
    fc.property(time, time, zone, around, by, (start, end, name, jump_ms, by_ms) => {
      const [rules, at_ms] = [{ start, end }, jump_ms + by_ms];
      fc.pre(isQuiet(rules, name, at_ms));
      const clock = clockOf(name);
      let minute = Math.floor(at_ms / MINUTE);
      const quiet = minutesOf(rules);
      while (quiet.has(clock(minute * MINUTE))) minute += 1;
      expect(quietUntilMs(rules, name, at_ms)).toBe(minute * MINUTE);
    }),
    // A pause of 29 minutes between two days' windows, which a change of half an hour skips.
    {
      numRuns: runs(500),
      examples: [['00:00', '23:31', 'Australia/Lord_Howe', Date.UTC(2026, 9, 3, 15, 30), -1]],
    },
  );
});

it('includes the start and excludes the end', () => {
  const rules = { start: '22:00', end: '08:00' };
  const at = (time: string) => isQuiet(rules, 'UTC', Date.parse(`2026-06-01T${time}Z`));
  expect(['21:59:59.999', '22:00:00.000', '23:59:59.999', '00:00:00.000'].map(at)).toEqual([
    false,
    true,
    true,
    true,
  ]);
  expect(['07:59:59.999', '08:00:00.000'].map(at)).toEqual([true, false]);
});

it('accepts zones in any spelling, and treats an unknown one as UTC', () => {
  const rules = { start: '10:00', end: '11:00' };
  const at_ms = Date.UTC(2026, 5, 1, 8, 30);
  expect(isQuiet(rules, 'europe/MALTA', at_ms)).toBe(true);
  expect(isQuiet(rules, 'Mars/Olympus', at_ms)).toBe(false);
  expect(isQuiet(rules, 'Mars/Olympus', at_ms + 2 * 3_600_000)).toBe(true);
});

it('finds the zones that are quiet among many', () => {
  const rules = { start: '22:00', end: '08:00' };
  const at_ms = Date.UTC(2026, 0, 1, 12);
  const zones = ['Asia/Tokyo', 'Europe/Malta', 'America/Los_Angeles', 'Pacific/Kiritimati'];
  expect(quietZones(rules, at_ms, zones)).toEqual(['America/Los_Angeles', 'Pacific/Kiritimati']);
});
