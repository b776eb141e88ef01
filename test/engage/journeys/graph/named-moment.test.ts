import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { namedMomentMs } from '../../../../src/engage/journeys/graph/named-moment.ts';
import { runs } from '../../../engines/effort.ts';
import { wallClock } from './wall-clock.ts';

const EIGHT_UTC = Date.UTC(2026, 11, 24, 20);

it.each([
  // Times of the player, who is in Malta.
  ['2026-12-24T20:00', EIGHT_UTC - 3_600_000],
  ['2026-12-24 20:00:00', EIGHT_UTC - 3_600_000],
  ['2026-07-24T20:00:00.5', Date.UTC(2026, 6, 24, 18, 0, 0, 500)],
  // Skipped, and shown twice.
  ['2026-03-29T02:30', Date.UTC(2026, 2, 29, 1)],
  ['2026-10-25T02:30', Date.UTC(2026, 9, 25, 0, 30)],
  // Times with an offset, also without seconds.
  ['2026-12-24T20:00Z', EIGHT_UTC],
  ['2026-12-24 20:00+00:00', EIGHT_UTC],
  ['2026-12-24T20:00:00-05:00', EIGHT_UTC + 5 * 3_600_000],
  ['2026-12-24', Date.UTC(2026, 11, 24)],
  // Since the epoch.
  [EIGHT_UTC, EIGHT_UTC],
  [EIGHT_UTC / 1_000, EIGHT_UTC],
  [BigInt(EIGHT_UTC), EIGHT_UTC],
  [EIGHT_UTC / 1_000 + 0.25, EIGHT_UTC + 250],
  [String(EIGHT_UTC), EIGHT_UTC],
  [String(EIGHT_UTC / 1_000), EIGHT_UTC],
  [undefined, 'missing'],
  [null, 'missing'],
  ['', 'missing'],
])('%s is read', (value, moment) => {
  expect(namedMomentMs(value, 'Europe/Malta')).toBe(moment);
});

it.each([
  'soon',
  '24.12.2026',
  '12/24/2026',
  '2026-02-30',
  '2026-02-30T20:00',
  '2026-12-24T25:00',
  '2026-12-24T20',
  '20261224',
  '5000',
  5_000,
  -5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  9e15,
  1_766_000_000_000_000,
  '1766000000000000',
  true,
  {},
  ['2026-12-24'],
])('%j names no moment', (value) => {
  expect(namedMomentMs(value, 'Europe/Malta')).toBe('unreadable');
});

it('a local time is the first moment from which on the clocks show it, or a later one', () => {
  const zones = fc.constantFrom(
    'Europe/Malta',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
    'UTC',
  );
  const minutes = fc.integer({ min: Date.UTC(2024, 0) / 60_000, max: Date.UTC(2028, 0) / 60_000 });
  fc.assert(
    fc.property(zones, minutes, (zone, shown) => {
      const text = new Date(shown * 60_000).toISOString().slice(0, 16);
      const at = Number(namedMomentMs(text, zone)) / 60_000;
      const clock = wallClock(zone);
      expect(clock(at)).toBeGreaterThanOrEqual(shown);
      // No earlier minute of the day before shows it.
      for (let before = at - 1; before > at - 130; before--) expect(clock(before)).toBeLessThan(shown);
    }),
    { numRuns: runs(40) },
  );
});
