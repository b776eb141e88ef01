import { assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  localDate,
  nextLocal,
  startOfLocal,
  type LocalInterval,
} from '../../src/platform/local-intervals.ts';
import { TimeZone } from '../../src/platform/time-zone.ts';
import { runs } from '../engines/effort.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const INTERVALS = ['hour', 'day', 'week'] as const;

/** Clocks that change at 01:00, 02:00, at midnight, back over midnight, by half an hour, by a whole day, or never. */
const ZONES = [
  'UTC',
  'Europe/Malta',
  'Atlantic/Azores',
  'America/New_York',
  'America/Havana',
  'America/Santiago',
  'America/Asuncion',
  'Asia/Beirut',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Pacific/Chatham',
  'Pacific/Apia',
] as const;

function zoneOf(name: string): TimeZone {
  const zone = TimeZone.named(name);
  if (zone === undefined) throw new Error(`no zone ${name}`);
  return zone;
}

/** What the clocks show as the number of the hour, day or week. */
function shown(zone: TimeZone, interval: LocalInterval, at_ms: number): number {
  const local_ms = zone.localMs(at_ms);
  if (interval === 'hour') return Math.floor(local_ms / HOUR_MS);
  const day = Math.floor(local_ms / DAY_MS);
  return interval === 'day' ? day : Math.floor((day + 3) / 7);
}

/**
 * The oracle: looks at the clock every minute. A day or week begins in the first minute that shows a later one than all
 * minutes before; an hour also whenever the clock shows its first minute.
 */
function startsBetween(zone: TimeZone, interval: LocalInterval, from_ms: number, to_ms: number): number[] {
  const starts: number[] = [];
  let latest = shown(zone, interval, from_ms - MINUTE_MS);
  for (let at_ms = from_ms; at_ms < to_ms; at_ms += MINUTE_MS) {
    const now = shown(zone, interval, at_ms);
    const is_full_hour = zone.localMs(at_ms) % HOUR_MS === 0;
    if (now > latest || (interval === 'hour' && is_full_hour)) starts.push(at_ms);
    latest = Math.max(now, latest);
  }
  return starts;
}

describe('local hours, days and weeks', () => {
  it('are those that a clock shows which is looked at every minute, around all changes of clocks', () => {
    assert(
      property(
        constantFrom(...ZONES),
        integer({ min: Date.UTC(2005), max: Date.UTC(2032) }),
        integer({ min: 0, max: 3 * DAY_MS }),
        (name, from_ms, shift_ms) => {
          const zone = zoneOf(name);
          const change_ms = zone.changeBetween(from_ms, from_ms + 400 * DAY_MS) ?? from_ms;
          // From a day on that is no part of a repetition, over the change.
          const begin_ms = Math.floor((change_ms - 4 * DAY_MS) / MINUTE_MS) * MINUTE_MS;
          const end_ms = begin_ms + 8 * DAY_MS;
          for (const interval of INTERVALS) {
            const found: number[] = [];
            for (
              let at_ms = nextLocal(zone, interval, begin_ms - 1);
              at_ms < end_ms;
              at_ms = nextLocal(zone, interval, at_ms)
            ) {
              found.push(at_ms);
            }
            const iso = (times: number[]) => times.map((at_ms) => new Date(at_ms).toISOString());
            expect(iso(found), `${name} ${interval}`).toEqual(
              iso(startsBetween(zone, interval, begin_ms, end_ms)),
            );
            const at_ms = begin_ms + shift_ms;
            const start_ms = startOfLocal(zone, interval, at_ms);
            expect(start_ms).toBeLessThanOrEqual(at_ms);
            expect(nextLocal(zone, interval, start_ms)).toBeGreaterThan(at_ms);
            expect(startOfLocal(zone, interval, start_ms)).toBe(start_ms);
          }
        },
      ),
      { numRuns: runs(150) },
    );
  });

  it('go on without end, from before clocks were common', () => {
    for (const name of ['Europe/Malta', 'Africa/Casablanca', 'Pacific/Apia']) {
      const zone = zoneOf(name);
      let at_ms = startOfLocal(zone, 'week', Date.UTC(1850, 0, 1));
      let weeks = 0;
      for (; at_ms < Date.UTC(2040, 0, 1); weeks++) {
        const next_ms = nextLocal(zone, 'week', at_ms);
        expect(next_ms).toBeGreaterThan(at_ms);
        expect(Number.isInteger(next_ms), `${name} ${at_ms}`).toBe(true);
        at_ms = next_ms;
      }
      expect(weeks).toBeGreaterThan(9_900);
    }
  });

  it('have 23 or 25 hours where clocks change, and the date of the place', () => {
    const zone = zoneOf('Europe/Malta');
    const hours = (day: string) => {
      const start_ms = startOfLocal(zone, 'day', Date.parse(day));
      return (nextLocal(zone, 'day', start_ms) - start_ms) / HOUR_MS;
    };
    expect(hours('2026-03-29T12:00:00Z')).toBe(23);
    expect(hours('2026-10-25T12:00:00Z')).toBe(25);
    expect(hours('2026-07-01T12:00:00Z')).toBe(24);
    // Example 50 of the feeds: already the next day in Malta.
    expect(localDate(zone, Date.parse('2026-07-01T22:30:00Z'))).toBe('2026-07-02');
    expect(new Date(startOfLocal(zone, 'day', Date.parse('2026-07-01T22:30:00Z'))).toISOString()).toBe(
      '2026-07-01T22:00:00.000Z',
    );
  });
});
