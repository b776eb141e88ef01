import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTimestamp } from '../../src/platform/timestamp.ts';
import { runs } from '../engines/effort.ts';

const parameters = { numRuns: runs(5_000) };
const two = (value: number) => String(value).padStart(2, '0');

describe('parsing a timestamp', () => {
  it('reads every instant of four-digit years in the format of Date', () => {
    const moments = fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moments, (date) => {
        expect(parseTimestamp(date.toISOString())).toBe(date.getTime());
      }),
      parameters,
    );
  });

  it('agrees with Date on which days exist, on offsets and on missing seconds', () => {
    const parts = fc.record({
      year: fc.integer({ min: 1890, max: 2110 }),
      month: fc.integer({ min: 0, max: 14 }),
      day: fc.integer({ min: 0, max: 33 }),
      hour: fc.integer({ min: 0, max: 24 }),
      minute: fc.integer({ min: 0, max: 60 }),
      second: fc.option(fc.integer({ min: 0, max: 60 })),
      offset: fc.oneof(
        fc.constant('Z'),
        fc
          .tuple(fc.constantFrom('+', '-'), fc.nat(23), fc.nat(59))
          .map(([sign, hours, minutes]) => `${sign}${two(hours)}:${two(minutes)}`),
      ),
    });
    fc.assert(
      fc.property(parts, ({ year, month, day, hour, minute, second, offset }) => {
        const time = `${two(hour)}:${two(minute)}${second === null ? '' : `:${two(second)}`}`;
        const parsed = parseTimestamp(`${year}-${two(month)}-${two(day)}T${time}${offset}`);
        expect(parsed).toBe(byDate(year, month, day, hour, minute, second ?? 0, offset));
      }),
      parameters,
    );
  });

  it('truncates digits below the millisecond', () => {
    fc.assert(
      fc.property(fc.nat(999_999_999), fc.integer({ min: 1, max: 9 }), (nanoseconds, digits) => {
        const fraction = String(nanoseconds).padStart(9, '0').slice(0, digits);
        const expected = Number(fraction.padEnd(3, '0').slice(0, 3));
        expect(parseTimestamp(`1970-01-01T00:00:00.${fraction}Z`)).toBe(expected);
        expect(parseTimestamp(`1970-01-01T00:00:00,${fraction}Z`)).toBe(expected);
      }),
      parameters,
    );
  });

  it('refuses every other text, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parseTimestamp(text)).toBeUndefined();
      }),
      parameters,
    );
    const near = ['2026-01-15T12:00:00', '2026-01-15', ' 2026-01-15T12:00:00Z', '2026-01-15T12:00:00z'];
    const nearer = [
      '2026-1-15T12:00:00Z',
      '２０26-01-15T12:00:00Z',
      '2026-01-15T12:00:00+0200',
      '20260115T120000Z',
    ];
    for (const text of [...near, ...nearer]) expect(parseTimestamp(text)).toBeUndefined();
  });
});

/** What `Date` makes of the parts; undefined where it would carry an overflow into the next unit. */
function byDate(
  ...[year, month, day, hour, minute, second, offset]: [
    number,
    number,
    number,
    number,
    number,
    number,
    string,
  ]
): number | undefined {
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  const same =
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second;
  return same ? Date.parse(`${date.toISOString().slice(0, -1)}${offset}`) : undefined;
}
