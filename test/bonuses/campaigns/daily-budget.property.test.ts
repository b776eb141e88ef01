import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runs, SEED } from '../../engines/effort.ts';
import { PacedWorld, type Moment, type Operation, type Paced } from './paced-world.ts';

// Decisions, releases, failures, merges and kills of several processes at the same time: no day holds more than its budget allows.

const COUNT = runs(200);
const MEMBERS = 14;

let world: PacedWorld;
beforeAll(async () => {
  world = await PacedWorld.open();
});
afterAll(() => world?.close());

const is_killed = fc.boolean();
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('decide' as const), is_killed }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const), is_killed }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('fail' as const, 'credit' as const),
      members: fc.integer({ min: 1, max: 4 }),
      is_killed,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('merge' as const),
      from: fc.nat(MEMBERS),
      into: fc.nat(MEMBERS),
      is_killed,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('exclude' as const), member: fc.nat(MEMBERS), is_killed }),
  },
);
/** Only one merge at a time: which players there are then is known. */
const together = fc
  .array(operation, { minLength: 1, maxLength: 4 })
  .map((all) =>
    all.filter((one, at) => one.kind !== 'merge' || all.findIndex(({ kind }) => kind === 'merge') === at),
  );
const moment: fc.Arbitrary<Moment> = fc.record({
  minutes: fc.oneof(fc.nat(30), fc.integer({ min: 60, max: 900 })),
  operations: together,
});
const paced: fc.Arbitrary<Paced> = fc.record({
  members: fc.integer({ min: 4, max: MEMBERS }),
  grants_of_day: fc.integer({ min: 1, max: 6 }),
  pace: fc.constantFrom('even' as const, 'asap' as const),
  hours: fc.array(fc.nat(9), { minLength: 24, maxLength: 24 }),
  begin_minute: fc.nat(1_439),
  holdout_percent: fc.constantFrom(0, 0, 40),
});

it(
  'a day never holds more than its budget allows, whatever happens at the same time',
  async () => {
    const lives = fc.sample(fc.tuple(paced, fc.array(moment, { minLength: 3, maxLength: 12 })), {
      numRuns: COUNT,
      seed: SEED,
    });
    for (const [of, moments] of lives)
      expect(await world.play(of, moments), JSON.stringify({ of, moments })).toEqual([]);
  },
  60_000 + COUNT * 2_000,
);
