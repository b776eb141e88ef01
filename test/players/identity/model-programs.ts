import * as fc from 'fast-check';
import { KINDS, NAMES, REFERENCES } from './few-ids.ts';
import { complaintsOnTheWay, DEVICES, outcomeOf, type ModelCall, type Program } from './model-run.ts';
import { complaintsOf } from './outcome.ts';
import type { World } from './world.ts';

/** The ids that a call gives: mostly combinations that merge two players. */
const SHAPES = ['ap', 'ap', 'ap', 'ap', 'ap', 'ae', 'ae', 'a', 'a', 'a', 'p', 'ep', 'aep', 'delete'] as const;

const call: fc.Arbitrary<ModelCall> = fc.record({
  ids: fc.constantFrom(...SHAPES),
  anonymous: fc.nat(DEVICES - 1),
  external: fc.nat(1),
  player: fc.nat(9),
});

/** Programs in which few players meet often. */
export const program: fc.Arbitrary<Program> = fc.record({
  events: fc.array(
    fc.record({
      // Half of the events name a player_id, where one is known.
      who: fc.nat(2 * DEVICES - 1),
      kind: fc.constantFrom(...KINDS),
      name: fc.nat(NAMES - 1),
      reference: fc.nat(REFERENCES - 1),
      moment: fc.nat(2),
      partition: fc.nat(1),
    }),
    { minLength: 4, maxLength: 14, size: 'max' },
  ),
  calls: fc.array(call, { minLength: 6, maxLength: 16, size: 'max' }),
  crashes: fc.nat(3),
  seed: fc.nat(),
});

/** What a world did wrong, on its way and at its end. */
export const allComplaints = (world: World) => [
  ...complaintsOnTheWay(world),
  ...complaintsOf(outcomeOf(world)),
];
