import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runs } from '../../../engines/effort.ts';
import { agree, COMMANDS, Event, HAVE_ACCOUNTS, Tick, type Scene } from './commands.ts';
import { Model, type Rules } from './model.ts';
import { SHAPES } from './shapes.ts';
import { newName, Stage } from './stage.ts';

const RUNS = runs(12, { nightly: 120 });
const MAX_COMMANDS = 50;
/** Long enough for a failure to be shrunk, or for a long search. */
const TIMEOUT_MS = 3_600_000;
/** A run comes to fewer rests than this. */
const MAX_RESTS = 8;

let stage: Stage;
/** The commands of the specification, and the answers to webhooks. */
const NAMES = [
  'custom_go',
  'trigger',
  'custom_answer',
  'custom_leave',
  'self_exclusion_set',
  'tick',
  'pause',
  'hold',
  'resume',
  'cancel',
  'publish',
  'migrate',
  'merge',
  'answer',
  'crash',
];
const met = new Map<string, number>();
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage?.close();
});

const rules: fc.Arbitrary<Rules> = fc.record({
  re_entry: fc.constantFrom('always', 'after_exit', 'once'),
  trigger: fc.constantFrom('custom_go', 'custom_answer'),
  exits: fc.boolean(),
});

async function newScene(shape: number, of: Rules): Promise<{ model: Model; real: Scene }> {
  await stage.begin();
  const devices = HAVE_ACCOUNTS.map(newName);
  const accounts = HAVE_ACCOUNTS.map((has) => (has ? newName() : undefined));
  const player_ids = await Promise.all(
    devices.map((anonymous_id, i) => {
      const external_id = accounts[i];
      return stage.identify({ anonymous_id, ...(external_id === undefined ? {} : { external_id }) });
    }),
  );
  const journey_id = await stage.journey(shape, of);
  const model = new Model(of, shape, HAVE_ACCOUNTS, stage.now_ms);
  return { model, real: { stage, journey_id, player_ids, devices, accounts, met } };
}

/** Lets every run come to its end, then deletes the journey. */
async function finish(model: Model, { journey_id, ...scene }: Scene): Promise<void> {
  if (model.status === 'paused') {
    model.activate('run');
    await stage.post(`/v1/journeys/${journey_id}/activate`, { resume: 'run' });
  }
  for (let rests = 0; rests < MAX_RESTS && model.running.length > 0; rests++) {
    model.settle();
    await stage.settle();
    stage.now_ms += 3 * 3_600_000;
    model.now_ms = stage.now_ms;
  }
  await agree(model, { journey_id, ...scene });
  expect(model.running).toEqual([]);
  await stage.post(`/v1/journeys/${journey_id}`, undefined, 'DELETE');
  await stage.settle();
}

it(
  'after any commands, with crashes between any two steps, runs are where the specification says',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        rules,
        fc.nat(SHAPES.length - 1),
        fc.commands(COMMANDS, { maxCommands: MAX_COMMANDS, size: 'max' }),
        async (of, shape, commands) => {
          let scene: { model: Model; real: Scene } | undefined;
          await fc.asyncModelRun(async () => (scene = await newScene(shape, of)), commands);
          if (scene !== undefined) await finish(scene.model, scene.real);
        },
      ),
      { numRuns: RUNS },
    );
    // Each command had its turn; of a short search that is left to chance.
    const fewest = Math.floor(RUNS / 20);
    for (const name of NAMES) expect(met.get(name) ?? 0, name).toBeGreaterThanOrEqual(fewest);
    expect(stage.crashes).toBeGreaterThanOrEqual(fewest);
  },
  TIMEOUT_MS,
);

it('a webhook that a run waits for no more goes out also when an event ends the run', async () => {
  const { model, real } = await newScene(0, { re_entry: 'always', trigger: 'custom_go', exits: true });
  const leave = new Event('custom_leave', 3, 'matcher');
  for (const one of [new Event('custom_go', 3, 'triggers'), new Tick(60), new Tick(23), leave]) {
    await one.run(model, real);
  }
  expect(model.runs[0]?.calls.get('crm')).toBe('pending');
  await finish(model, real);
});
