import { array, assert, bigInt, constantFrom, integer, property, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimalOf, medianOf, parseDecimal } from '../../../../src/analytics/insights/alerts/rational.ts';
import {
  comparedStarts,
  decide,
  measuredOf,
  type Measured,
} from '../../../../src/analytics/insights/alerts/rules.ts';
import { startsBetween } from '../../../../src/analytics/insights/alerts/measure.ts';
import { JsonText } from '../../../../src/platform/exact-json.ts';
import { nextLocal } from '../../../../src/platform/local-intervals.ts';
import { TimeZone, UTC_ZONE } from '../../../../src/platform/time-zone.ts';
import { runs } from '../../../engines/effort.ts';

const of = (value: number): Measured => measuredOf(BigInt(value));
const rate = (numerator: number, denominator: number) =>
  measuredOf({ numerator: BigInt(numerator), denominator: BigInt(denominator) });
const kindOf = (...given: Parameters<typeof decide>) => decide(...given).kind;

describe('a threshold', () => {
  const at = (op: 'gt' | 'gte' | 'lt' | 'lte', value: number) => ({ kind: 'threshold', op, value }) as const;

  it('is compared exactly', () => {
    expect(kindOf(at('gt', 5), of(5), [])).toBe('quiet');
    expect(kindOf(at('gte', 5), of(5), [])).toBe('fires');
    expect(kindOf(at('lt', -5), of(-6), [])).toBe('fires');
    expect(kindOf(at('lte', 0.1), rate(1, 10), [])).toBe('fires');
    expect(kindOf(at('lt', 0.1), rate(1, 10), [])).toBe('quiet');
    // Beyond what a double can tell apart.
    const large = measuredOf(9_007_199_254_740_993n * 1_000n);
    expect(kindOf(at('gt', 1e15), large, [])).toBe('fires');
  });

  it('is not decided without a value', () => {
    expect(kindOf(at('lt', 5), rate(0, 0), [])).toBe('unknown');
    expect(kindOf(at('lt', 5), measuredOf(null), [])).toBe('unknown');
  });

  it('takes a rate with a denominator below 0 for what it is', () => {
    expect(kindOf(at('lt', 0), rate(1, -10), [])).toBe('fires');
  });
});

describe('a change', () => {
  const change = (op: 'lt' | 'gte', bp: number) => ({ kind: 'change', against: 'previous', op, bp }) as const;

  it('is in hundredths of a percent of the size of the value before', () => {
    expect(kindOf(change('lt', -2_000), of(80), [of(100)])).toBe('quiet');
    expect(kindOf(change('lt', -2_000), of(79), [of(100)])).toBe('fires');
    expect(kindOf(change('gte', 5_000), of(-50), [of(-100)])).toBe('fires');
    expect(kindOf(change('lt', -5_000), of(-151), [of(-100)])).toBe('fires');
    expect(decide(change('gte', 0), of(7), [of(3)])).toMatchObject({ kind: 'fires', before: 3n });
  });

  it('is not decided against nothing', () => {
    expect(kindOf(change('gte', 0), of(7), [of(0)])).toBe('unknown');
    expect(kindOf(change('gte', 0), of(7), [rate(0, 0)])).toBe('unknown');
    expect(kindOf(change('gte', 0), of(7), [])).toBe('unknown');
  });
});

describe('an unusual value', () => {
  const unusual = (minimum = 0) => ({ kind: 'unusual', minimum }) as const;

  /** By the definition, with sorted lists of quarters: whole, half and quarter numbers are exact in doubles. */
  function isOutside(value: number, weeks: readonly number[]): boolean {
    const middle = (numbers: readonly number[]) => {
      const sorted = [...numbers].sort((one, other) => one - other);
      const half = Math.floor(sorted.length / 2);
      const [low = NaN, high = NaN] = [sorted[half - 1], sorted[half]];
      return sorted.length % 2 === 1 ? high : (low + high) / 2;
    };
    const median = middle(weeks);
    const mad = middle(weeks.map((one) => Math.abs(one - median)));
    return Math.abs(value - median) * 4 * 10_000 > 4 * 14_826 * (mad * 4);
  }

  it('is outside of median ± 4 × 1.4826 median absolute deviations', () => {
    const number = integer({ min: -200, max: 200 });
    // The oldest week has a volume, so that all are known.
    const weeks = tuple(array(number, { minLength: 3, maxLength: 7 }), integer({ min: 1, max: 200 }));
    assert(
      property(number, weeks, (value, [others, oldest]) => {
        const known = [...others, oldest];
        const fires = decide(unusual(), of(value), known.map(of)).kind === 'fires';
        expect(fires).toBe(isOutside(value, known));
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('is the same for values and for rates of the same size', () => {
    const weeks = [90, 100, 110, 95, 105, 100, 98, 102];
    for (const value of [60, 100, 130, 145])
      expect(
        kindOf(
          unusual(),
          rate(value * 3, 300),
          weeks.map((one) => rate(one * 7, 700)),
        ),
      ).toBe(kindOf(unusual(), of(value), weeks.map(of)));
  });

  it('needs a volume: the value, or what is usual; of a rate the denominator', () => {
    const weeks = [10, 11, 9, 10, 12, 10, 9, 11].map(of);
    expect(kindOf(unusual(41), of(40), weeks)).toBe('quiet');
    expect(kindOf(unusual(40), of(40), weeks)).toBe('fires');
    expect(kindOf(unusual(10), of(0), weeks)).toBe('fires');
    const rates = [10, 11, 9, 10, 12, 10, 9, 11].map((one) => rate(one, 100));
    expect(kindOf(unusual(101), rate(90, 100), rates)).toBe('quiet');
    expect(kindOf(unusual(100), rate(90, 100), rates)).toBe('fires');
  });

  it('needs four known weeks, which begin with the first that has any volume', () => {
    expect(kindOf(unusual(), of(9), [5, 5, 5, 0, 0, 0, 0, 0].map(of))).toBe('unknown');
    expect(kindOf(unusual(), of(9), [5, 0, 5, 5, 0, 0, 0, 0].map(of))).toBe('fires');
    expect(decide(unusual(), of(9), [5, 6, 5, 4, 0, 0, 0, 0].map(of))).toMatchObject({
      low: { numerator: expect.any(BigInt) as bigint },
    });
  });
});

describe('the intervals that are compared', () => {
  const hour = (text: string) => Date.parse(text);
  const malta = TimeZone.named('Europe/Malta') ?? UTC_ZONE;

  it('are at the same local time in earlier weeks, also where clocks change', () => {
    // Clocks went forward on 29 March 2026 at 01:00 UTC.
    const at_ms = hour('2026-04-01T07:00:00Z');
    const starts = comparedStarts({ kind: 'unusual', minimum: 0 }, 'hour', at_ms, malta);
    expect(starts.map((start_ms) => new Date(start_ms).toISOString()).slice(0, 2)).toEqual([
      '2026-03-25T08:00:00.000Z',
      '2026-03-18T08:00:00.000Z',
    ]);
    expect(starts).toHaveLength(8);
    const days = comparedStarts(
      { kind: 'change', against: 'week', op: 'lt', bp: 0 },
      'day',
      hour('2026-03-31T22:00:00Z'),
      malta,
    );
    expect(days).toEqual([hour('2026-03-24T23:00:00Z')]);
  });

  it('may be the one before, which is an hour of its own where clocks show it twice', () => {
    const before = comparedStarts(
      { kind: 'change', against: 'previous', op: 'lt', bp: 0 },
      'hour',
      hour('2026-10-25T01:00:00Z'),
      malta,
    );
    expect(before).toEqual([hour('2026-10-25T00:00:00Z')]);
    expect(comparedStarts({ kind: 'threshold', op: 'lt', value: 0 }, 'day', 0, malta)).toEqual([]);
  });

  it('that are over have no gaps and do not overlap, in any zone', () => {
    const zones = ['UTC', 'Europe/Malta', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
    assert(
      property(
        constantFrom(...zones),
        constantFrom('hour' as const, 'day' as const),
        integer({ min: hour('2024-01-01T00:00:00Z'), max: hour('2027-01-01T00:00:00Z') }),
        integer({ min: 0, max: 20 * 86_400_000 }),
        (name, step, from_ms, length_ms) => {
          const zone = TimeZone.named(name) ?? UTC_ZONE;
          const starts = startsBetween(zone, step, from_ms, from_ms + length_ms);
          for (const [i, start_ms] of starts.entries()) {
            const end_ms = nextLocal(zone, step, start_ms);
            expect(start_ms).toBeGreaterThanOrEqual(from_ms);
            expect(end_ms).toBeLessThanOrEqual(from_ms + length_ms);
            if (i + 1 < starts.length) expect(starts[i + 1]).toBe(end_ms);
          }
          expect(startsBetween(zone, step, from_ms, from_ms + length_ms, 3)).toEqual(starts.slice(-3));
        },
      ),
      { numRuns: runs(300) },
    );
  });
});

describe('numbers', () => {
  it('are read and written exactly', () => {
    expect(parseDecimal('-1.25e1')).toEqual({ numerator: -125n, denominator: 10n });
    expect(() => parseDecimal('NaN')).toThrow(SyntaxError);
    expect(decimalOf(parseDecimal('-0.5'), 6)).toBe('-0.5');
    expect(decimalOf({ numerator: 2n, denominator: 3n }, 3)).toBe('0.666');
    expect(measuredOf(new JsonText('12345678901234567890.5')).amount).toEqual({
      numerator: 123456789012345678905n,
      denominator: 10n,
    });
    assert(
      property(bigInt(), integer({ min: 0, max: 12 }), (digits, places) => {
        const exact = { numerator: digits, denominator: 10n ** BigInt(places) };
        const read = parseDecimal(decimalOf(exact, places));
        expect(read.numerator * exact.denominator).toBe(exact.numerator * read.denominator);
      }),
    );
  });

  it('have a median', () => {
    expect(decimalOf(medianOf([3, 1, 2].map((n) => parseDecimal(String(n)))), 2)).toBe('2');
    expect(decimalOf(medianOf([4, 1, 2, 3].map((n) => parseDecimal(String(n)))), 2)).toBe('2.5');
    expect(() => medianOf([])).toThrow(RangeError);
  });
});
