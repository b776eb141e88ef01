import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparedSteps, stepsOf } from '../../../src/analytics/insights/range.ts';
import { TimeZone } from '../../../src/platform/time-zone.ts';
import { runs } from '../../engines/effort.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.UTC(2026, 11, 1);

function zoneOf(name: string) {
  const zone = TimeZone.named(name);
  if (zone === undefined) throw new Error(`no zone ${name}`);
  return zone;
}

/** The local times of the intervals of days, with those they are compared with, as `DD HH`. */
function pairs(
  name: string,
  [from, to]: [string, string],
  compare: 'previous' | 'week' | 'year',
  interval: 'hour' | 'day',
) {
  const zone = zoneOf(name);
  const at = (local: string) => new Date(zone.momentsOf(Date.parse(`${local}Z`)).first_ms).toISOString();
  const steps = stepsOf({ range: { from: at(from), to: at(to) }, interval }, NOW_MS, zone);
  const compared = comparedSteps(steps, compare, zone);
  const local = (at_ms: number | undefined) =>
    at_ms === undefined ? '-' : new Date(zone.localMs(at_ms)).toISOString().slice(8, 13).replace('T', ' ');
  return {
    pairs: steps.starts_ms.map((at_ms, i) => `${local(at_ms)} ${local(compared.pairs_ms[i])}`),
    rest: compared.starts_ms.filter((at_ms) => !compared.pairs_ms.includes(at_ms)).map(local),
    compared,
  };
}

const hours = (day: number, of: readonly number[], before: number) =>
  of.map((hour) => [day, hour, before, hour].map((n) => String(n).padStart(2, '0')).join(' '));
const ALL = Array.from({ length: 24 }, (_, hour) => hour);
const without = (hour: number) => ALL.filter((one) => one !== hour);

describe('hours are compared with the same hours by the clocks', () => {
  it('where the range skips one', () => {
    const days: [string, string] = ['2026-03-29T00:00', '2026-03-30T00:00'];
    for (const [compare, before] of [
      ['previous', 28],
      ['week', 22],
      ['year', 30],
    ] as const) {
      const { pairs: found, rest } = pairs('Europe/Malta', days, compare, 'hour');
      if (compare === 'year') {
        // On 30 March 2025 the clocks skipped the same hour.
        expect([found, rest]).toEqual([hours(29, without(2), before), []]);
      } else expect([found, rest]).toEqual([hours(29, without(2), before), [`${before} 02`]]);
    }
    const santiago = pairs('America/Santiago', ['2026-09-06T00:00', '2026-09-07T00:00'], 'week', 'hour');
    expect(santiago.pairs).toEqual(hours(6, without(0), 30));
    expect(santiago.rest).toEqual(['30 00']);
  });

  it('where what is before skips one', () => {
    const after = pairs('Europe/Malta', ['2026-03-30T00:00', '2026-03-31T00:00'], 'previous', 'hour');
    expect(after.pairs).toEqual(hours(30, ALL, 29).map((one) => (one === '30 02 29 02' ? '30 02 -' : one)));
    expect(after.rest).toEqual([]);
    const santiago = pairs('America/Santiago', ['2026-09-13T00:00', '2026-09-14T00:00'], 'week', 'hour');
    expect(santiago.pairs).toEqual(hours(13, ALL, 6).map((one) => (one === '13 00 06 00' ? '13 00 -' : one)));
  });

  it('where the range shows one twice', () => {
    const twice = [...ALL.slice(0, 3), ...ALL.slice(2)];
    const malta = pairs('Europe/Malta', ['2026-10-25T00:00', '2026-10-26T00:00'], 'week', 'hour');
    const expected = hours(25, twice, 18);
    expected[3] = '25 02 -';
    expect([malta.pairs, malta.rest]).toEqual([expected, []]);
    const santiago = pairs('America/Santiago', ['2026-04-04T00:00', '2026-04-05T00:00'], 'previous', 'hour');
    expect(santiago.pairs).toEqual([...hours(4, ALL, 3), '04 23 -']);
  });

  it('where what is before shows one twice, which is then one', () => {
    const malta = pairs('Europe/Malta', ['2026-11-01T00:00', '2026-11-02T00:00'], 'week', 'hour');
    expect([malta.pairs, malta.rest]).toEqual([hours(1, ALL, 25), []]);
    const zone = zoneOf('Europe/Malta');
    const { starts_ms } = malta.compared;
    expect((starts_ms[3] ?? 0) - (starts_ms[2] ?? 0)).toBe(2 * HOUR_MS);
    expect(zone.localMs(starts_ms[3] ?? 0) % DAY_MS).toBe(3 * HOUR_MS);
  });
});

it('days are compared with whole days where midnight is skipped', () => {
  const { compared } = pairs('America/Santiago', ['2026-09-06T00:00', '2026-09-08T00:00'], 'week', 'day');
  const zone = zoneOf('America/Santiago');
  expect(compared.starts_ms.map((at_ms) => new Date(zone.localMs(at_ms)).toISOString())).toEqual([
    '2026-08-30T00:00:00.000Z',
    '2026-08-31T00:00:00.000Z',
  ]);
});

it('every moment before counts once, at the point of its own local hour', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('Europe/Malta', 'America/Santiago', 'UTC', 'Asia/Kolkata', 'America/New_York'),
      fc.integer({ min: 0, max: 660 }),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 1, max: 400 }),
      fc.constantFrom('previous' as const, 'week' as const, 'year' as const),
      (name, day, hour, length, compare) => {
        const zone = zoneOf(name);
        const from_ms = Date.UTC(2025, 0, 15 + day, hour);
        const range = {
          from: new Date(from_ms).toISOString(),
          to: new Date(from_ms + length * HOUR_MS).toISOString(),
        };
        const steps = stepsOf({ range, interval: 'hour' }, NOW_MS, zone);
        const { from_ms: first_ms, to_ms, starts_ms, pairs_ms } = comparedSteps(steps, compare, zone);
        expect(pairs_ms).toHaveLength(steps.starts_ms.length);
        expect(starts_ms[0]).toBe(first_ms);
        expect(starts_ms.every((at_ms, i) => i === 0 || at_ms > (starts_ms[i - 1] ?? 0))).toBe(true);
        const paired = pairs_ms.filter((at_ms) => at_ms !== undefined);
        expect(new Set(paired).size).toBe(paired.length);
        const shift_ms =
          compare === 'previous'
            ? zone.localMs(steps.to_ms) -
              Math.min(zone.localMs(steps.from_ms), zone.localMs(steps.from_ms - 1) + 1)
            : compare === 'week'
              ? 7 * DAY_MS
              : 364 * DAY_MS;
        const shownAt = (at_ms: number) => Math.floor(zone.localMs(at_ms) / HOUR_MS);
        const shown = new Set(steps.starts_ms.map(shownAt));
        for (let at_ms = first_ms; at_ms < to_ms; at_ms += HOUR_MS / 2) {
          const start_ms = starts_ms.findLast((one) => one <= at_ms) ?? NaN;
          const wanted = shownAt(at_ms) + shift_ms / HOUR_MS;
          // At the beginning and the end of a range the clocks may show an hour of which only a part is in it.
          const place = pairs_ms.indexOf(start_ms);
          if (place >= 0) expect(shownAt(steps.starts_ms[place] ?? NaN)).toBe(wanted);
          else expect(shown.has(wanted)).toBe(false);
        }
      },
    ),
    { numRuns: runs(300) },
  );
});
