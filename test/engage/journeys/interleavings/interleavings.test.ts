import { expect, it } from 'vitest';
import { runs, SEED } from '../../../engines/effort.ts';
import { Random } from '../../../crash/random.ts';
import { stepsOf } from './complaints.ts';
import {
  deleteAndAdvance,
  ends,
  enterAndEvent,
  holdAndResume,
  makeJourneys,
  mergeAndAdvance,
  type Scenario,
} from './scenarios.ts';
import { World } from './world.ts';

// A failure prints a seed, with which it is the first of its scenario.

const RUNS = runs(100, { nightly: 2_000, nightly_on_servers: 200 });
/** After so many failures a scenario is not continued. */
const MAX_FAILURES = 3;

const SCENARIOS: readonly [string, Scenario, number][] = [
  ['a run begins to wait ∥ its event', enterAndEvent, 0.25],
  ['cancel ∥ claim ∥ match', ends, 0.3],
  ['merge ∥ advance', mergeAndAdvance, 0.25],
  ['hold ∥ resume', holdAndResume, 0.15],
  ['delete ∥ advance', deleteAndAdvance, 0.05],
];

it.concurrent.each(SCENARIOS)(
  '%s: one outcome, and one timer per running run',
  async (_name, scenario, share) => {
    const world = await World.open();
    try {
      const journeys = await makeJourneys(world);
      const times = Math.ceil(RUNS * share);
      const failures: string[][] = [];
      for (let run = 0; run < times && failures.length < MAX_FAILURES; run++) {
        const seed = SEED + run;
        const complaints = await scenario(world, journeys, new Random(seed)).catch((error: unknown) => [
          `it failed: ${String(error)}`,
        ]);
        if (complaints.length > 0) failures.push([`TEST_SEED=${seed}`, ...complaints]);
      }
      expect(failures).toEqual([]);
    } finally {
      await world.close();
    }
  },
  60_000 + RUNS * 1_000,
);

it('an event that was looked up before the wait was visible counts, also if the player is merged then', async () => {
  const world = await World.open();
  try {
    const { waiting } = await makeJourneys(world);
    const [player_id, survivor] = [await world.player(), await world.player()];
    const run_id = (await world.enter(waiting, player_id)) ?? '';
    const { runner } = world.handsOf({
      postgres: world.postgres,
      // The event comes as soon as it was noted where the log ends.
      async step(_what, act) {
        const noted = await act();
        await world.at_once.matcher.handle(await world.append(player_id, 'custom_answer'));
        return noted;
      },
    });
    await runner.turn(() => world.merge(player_id, survivor));
    await world.drain();
    expect((await stepsOf(world, run_id)).map(({ outcome }) => outcome)).toEqual(['event', 'queued']);
  } finally {
    await world.close();
  }
});
