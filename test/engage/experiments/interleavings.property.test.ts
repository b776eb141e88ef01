import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runs, SEED } from '../../engines/effort.ts';
import { HeldOutWorld, PLAYERS, type Operation } from './held-out-world.ts';

// Draws, gates, merges, ends of rounds and restarts in any order: who is held out gets nothing of it.

const COUNT = runs(200, { nightly: 10_000 });
/** Worlds at the same time. */
const PARALLEL = 4;

let world: HeldOutWorld;
beforeAll(async () => {
  world = await HeldOutWorld.open();
});
afterAll(() => world?.close());

const players = fc.uniqueArray(fc.nat(PLAYERS - 1), { minLength: 1, maxLength: PLAYERS });
const is_killed = fc.boolean();
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('send' as const, 'enter' as const, 'reserve' as const),
      players,
      is_killed,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('deliver' as const, 'release' as const),
      players,
      is_killed,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('merge' as const),
      from: fc.nat(PLAYERS - 1),
      into: fc.nat(PLAYERS - 1),
      is_killed,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('exclude' as const), player: fc.nat(PLAYERS - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('round' as const) }) },
);

/** Whether so many of so many are not too unlikely, each being drawn with this probability. */
function isLikely(drawn: number, of: number, probability: number): boolean {
  // Beyond 5 standard deviations: one in two million.
  return Math.abs(drawn - of * probability) <= 5 * Math.sqrt(of * probability * (1 - probability));
}

it(
  'a person is in one arm, gets nothing that it is held out from, and the shares are those that were set',
  async () => {
    const sequences = fc.sample(fc.array(operation, { minLength: 3, maxLength: 12 }), {
      numRuns: COUNT,
      seed: SEED,
    });
    const failures: unknown[] = [];
    let next = 0;
    const work = async () => {
      for (let at = next++; at < sequences.length && failures.length < 3; at = next++) {
        const operations = sequences[at] ?? [];
        const complaints = await world.play(operations);
        if (complaints.length > 0) failures.push({ seed: SEED, at, operations, complaints });
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    expect(failures, JSON.stringify(failures)).toEqual([]);
    for (const { what, drawn, of, probability } of world.shares()) {
      expect(of, what).toBeGreaterThan(COUNT / 4);
      expect([what, drawn, of, isLikely(drawn, of, probability)]).toEqual([what, drawn, of, true]);
    }
  },
  60_000 + COUNT * 2_000,
);
