import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../engines/effort.ts';
import { allComplaints, program } from './model-programs.ts';
import { runProgram } from './model-run.ts';

const RUNS = runs(2_500, { nightly: 100_000 });

describe('in any order of statements, with crashes at any of them,', () => {
  it(
    'merges and the fold keep every sum, and assign every event to the right player',
    () => {
      const met = new Map<string, number>();
      fc.assert(
        fc.property(program, (drawn) => {
          const world = runProgram(drawn, {});
          for (const [what, times] of Object.entries(world.met)) met.set(what, (met.get(what) ?? 0) + times);
          expect(allComplaints(world)).toEqual([]);
        }),
        { numRuns: RUNS },
      );
      // Each difficult situation occurred; the rarest, a deadlock, occurs in about one of 150 runs.
      for (const [what, times] of met) expect(times, what).toBeGreaterThanOrEqual(RUNS / 1_000 - 1);
    },
    360_000 * Math.max(1, RUNS / 10_000),
  );
});
