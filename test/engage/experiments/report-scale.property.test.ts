import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { judge, type ArmData, type Judged } from '../../../src/engage/experiments/report.ts';
import type { Sums } from '../../../src/engage/experiments/statistics/means.ts';
import { runs } from '../../engines/effort.ts';

// Sums in parts of the smallest unit say the same as sums in the unit.

type Value = readonly [y: bigint, x: bigint];

function sumsOf(values: readonly Value[], times: bigint): Sums {
  const sum = (of: (y: bigint, x: bigint) => bigint) =>
    values.reduce((all, [y, x]) => all + of(times * y, times * x), 0n);
  return {
    n: BigInt(values.length),
    y: sum((y) => y),
    y2: sum((y) => y * y),
    y3: sum((y) => y * y * y),
    x: sum((_y, x) => x),
    x2: sum((_y, x) => x * x),
    xy: sum((y, x) => x * y),
  };
}

function armOf(arm: string, values: readonly Value[], times: bigint): ArmData {
  const sums = sumsOf(values, times);
  const cut_sums = sumsOf(
    values.map(([y, x]) => [y < 900n ? y : 900n, x < 900n ? x : 900n]),
    times,
  );
  const harm = { exclusions: 0, limits_reached: 0, cooldowns: 0 };
  return { arm, converted: 0, with_value: values.length, ngr: 0n, sums, cut_sums, cut: 1, harm };
}

const values = fc.array(fc.tuple(fc.bigInt(-1_000n, 100_000n), fc.bigInt(-1_000n, 100_000n)), {
  minLength: 30,
  maxLength: 60,
});

it('an effect is in the smallest unit, whatever part of it is summed', () => {
  fc.assert(
    fc.property(values, values, fc.constantFrom('once' as const, 'always' as const), (held, got, looks) => {
      const saidOf = (scale: bigint) => {
        const judged: Judged = {
          held_out: armOf('held_out', held, scale),
          treated: [armOf('treated', got, scale)],
          looks,
          is_over: true,
          scale,
          primary: 'money',
          shares: [
            { players: held.length, expected: held.length },
            { players: got.length, expected: got.length },
          ],
          permutedP: () => null,
        };
        return judge(judged).arms[0];
      };
      const [unit, parts] = [saidOf(1n), saidOf(10_000n)];
      expect(parts?.verdict).toEqual(unit?.verdict);
      const close = (a: number | undefined, b: number | undefined) =>
        expect(Math.abs((a ?? 0) - (b ?? 0))).toBeLessThanOrEqual(1e-7 * Math.max(1, Math.abs(b ?? 0)));
      close(parts?.money?.difference, unit?.money?.difference);
      close(parts?.money?.interval?.[0], unit?.money?.interval?.[0]);
      close(parts?.money?.interval?.[1], unit?.money?.interval?.[1]);
      close(parts?.money?.p_value ?? 0, unit?.money?.p_value ?? 0);
      close(parts?.money?.skew, unit?.money?.skew);
      close(parts?.money?.cut?.difference, unit?.money?.cut?.difference);
      expect(parts?.money?.cut?.rests_on).toBe(unit?.money?.cut?.rests_on);
    }),
    { numRuns: runs(100) },
  );
});
