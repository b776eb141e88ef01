import { assert, constantFrom, integer, oneof, property, record, constant } from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, it } from 'vitest';
import { lastTime, nextTime } from '../../../../src/analytics/insights/reports/schedule.ts';
import type { Schedule } from '../../../../src/analytics/insights/reports/schema.ts';
import { TimeZone } from '../../../../src/platform/time-zone.ts';
import { runs } from '../../../engines/effort.ts';

const QUARTER_MS = 15 * 60_000;
const DAY_MS = 86_400_000;
/** Clocks that change at different hours, by less than an hour, at midnight, or skip a day. */
const ZONES = [
  'UTC',
  'Europe/Malta',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'America/Havana',
  'America/Nuuk',
  'Asia/Beirut',
  'Pacific/Apia',
  'Pacific/Chatham',
];

const zoneOf = (name: string): TimeZone => {
  const zone = TimeZone.named(name);
  if (zone === undefined) throw new Error(name);
  return zone;
};

const hour = integer({ min: 0, max: 23 });
const schedules = oneof(
  record({ every: constant('day' as const), hour }),
  record({ every: constant('week' as const), weekday: integer({ min: 1, max: 7 }), hour }),
  record({ every: constant('month' as const), day: integer({ min: 1, max: 31 }), hour }),
);
const inputs = record({
  name: constantFrom(...ZONES),
  schedule: schedules,
  at_ms: integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2037, 0, 1) }),
});

const isDateOf = (schedule: Schedule, local: DateTime): boolean => {
  if (schedule.every === 'week') return local.weekday === schedule.weekday;
  if (schedule.every === 'month') return local.day === Math.min(schedule.day, local.daysInMonth ?? 31);
  return true;
};

/**
 * The oracle: what clocks show, by luxon. The times of a schedule are the first moment of each of its dates in which the clocks
 * show its hour or a later one, or of the next date when they have skipped the rest of the date. The clocks of these zones
 * change, and show full hours, at quarters of an hour only.
 */
function timesOf(name: string, schedule: Schedule, from_ms: number, to_ms: number): number[] {
  const zone = zoneOf(name);
  const times: number[] = [];
  const first_ms = Math.floor((from_ms - 2 * DAY_MS) / QUARTER_MS) * QUARTER_MS;
  let waits: string | undefined;
  const done = new Set<string>();
  for (let at_ms = first_ms; at_ms <= to_ms; at_ms += QUARTER_MS) {
    const local = DateTime.fromMillis(at_ms, { zone });
    const date = local.toISODate() ?? '';
    if (waits !== undefined && waits !== date) {
      times.push(at_ms);
      done.add(waits);
      waits = undefined;
    }
    if (done.has(date) || !isDateOf(schedule, local)) continue;
    if (local.hour >= schedule.hour) {
      times.push(at_ms);
      done.add(date);
      waits = undefined;
    } else waits = date;
  }
  return times.filter((one) => one > from_ms && one <= to_ms);
}

describe('the times of a schedule', () => {
  it('are those at which the clocks first show its hour on its dates', () => {
    assert(
      property(inputs, ({ name, schedule, at_ms }) => {
        const zone = zoneOf(name);
        const until_ms = at_ms + (schedule.every === 'month' ? 63 : 16) * DAY_MS;
        const expected = timesOf(name, schedule, at_ms, until_ms);
        const found: number[] = [];
        for (let one = nextTime(zone, schedule, at_ms); one <= until_ms; one = nextTime(zone, schedule, one))
          found.push(one);
        expect(found).toEqual(expected);
      }),
      { numRuns: runs(60) },
    );
  });

  it('are the same backwards, with none between the last one and the next one', () => {
    assert(
      property(inputs, ({ name, schedule, at_ms }) => {
        const zone = zoneOf(name);
        const [last, next] = [lastTime(zone, schedule, at_ms), nextTime(zone, schedule, at_ms)];
        expect(last).toBeLessThanOrEqual(at_ms);
        expect(next).toBeGreaterThan(at_ms);
        expect(nextTime(zone, schedule, last)).toBe(next);
        expect(lastTime(zone, schedule, next - 1)).toBe(last);
        expect(lastTime(zone, schedule, next)).toBe(next);
      }),
      { numRuns: runs(300) },
    );
  });

  it.each([
    [
      'where the clocks skip the hour, right after the gap',
      'Europe/Malta',
      2,
      '2026-03-29',
      '2026-03-29T01:00:00Z',
    ],
    ['where they show it twice, the first time', 'Europe/Malta', 2, '2026-10-25', '2026-10-25T00:00:00Z'],
    [
      'where they skip the end of the date, at midnight',
      'America/Nuuk',
      23,
      '2024-03-30',
      '2024-03-31T01:00:00Z',
    ],
    ['where they skip midnight, at one', 'Asia/Beirut', 0, '2026-03-29', '2026-03-28T22:00:00Z'],
  ])('%s', (_title, name, at_hour, date, expected) => {
    const zone = zoneOf(name);
    const begin_ms = DateTime.fromISO(date, { zone }).toMillis();
    const next = nextTime(zone, { every: 'day', hour: at_hour }, begin_ms - 1);
    expect(new Date(next).toISOString()).toBe(new Date(expected).toISOString());
  });

  it('are none on a date that the clocks skip', () => {
    const zone = zoneOf('Pacific/Apia');
    const day: Schedule = { every: 'day', hour: 9 };
    const thursday = DateTime.fromISO('2011-12-29T09:00', { zone }).toMillis();
    const saturday = DateTime.fromISO('2011-12-31T09:00', { zone }).toMillis();
    expect(nextTime(zone, day, thursday)).toBe(saturday);
    expect(lastTime(zone, day, saturday - 1)).toBe(thursday);
  });

  it('of a month that is shorter are on its last day', () => {
    const zone = zoneOf('UTC');
    const times = [1, 2, 3].reduce<number[]>(
      (of) => [
        ...of,
        nextTime(zone, { every: 'month', day: 31, hour: 6 }, of.at(-1) ?? Date.UTC(2027, 0, 31, 5)),
      ],
      [],
    );
    expect(times.map((one) => new Date(one).toISOString().slice(0, 13))).toEqual([
      '2027-01-31T06',
      '2027-02-28T06',
      '2027-03-31T06',
    ]);
  });
});
