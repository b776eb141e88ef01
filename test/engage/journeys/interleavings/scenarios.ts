import { v5 as uuidv5 } from 'uuid';
import { ApiError } from '../../../../src/errors.ts';
import {
  lockJourney,
  pauseRow,
  setLive,
  softDeleteJourney,
} from '../../../../src/engage/journeys/graph/queries.ts';
import { runCancelJob, runResumeJob } from '../../../../src/engage/journeys/runs-job.ts';
import { cancelRun } from '../../../../src/engage/journeys/runs/cancel.ts';
import { writeResults } from '../../../../src/engage/webhooks/result-queries.ts';
import { auditNothing } from '../../../../src/http/audit.ts';
import { isLockTimeout, retryConflicts } from '../../../../src/platform/postgres/retry.ts';
import type { Random } from '../../../crash/random.ts';
import {
  complaintsAboutEnded,
  complaintsAboutTimers,
  runsOf,
  stepsOf,
  type StoredRun,
} from './complaints.ts';
import { Stepper, type Turns } from './stepper.ts';
import type { Hands, Journey, World, WrittenNode } from './world.ts';

/** Lets some transactions meet in an order drawn from the seed; returns what was wrong, with the order. */
export type Scenario = (world: World, journeys: Journeys, random: Random) => Promise<string[]>;

/** The journeys whose runs meet. */
export interface Journeys {
  waiting: Journey;
  calling: Journey;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Longer than any rest of the journeys, and more rests than one has. */
const LONG_MS = 4 * DAY_MS;
const MAX_RESTS = 5;
const STOP = new AbortController().signal;

export async function makeJourneys(world: World): Promise<Journeys> {
  const send = (id: string, next: string): WrittenNode => {
    const { template_id, provider_id } = world;
    return { id, type: 'send_message', template_id, provider_id, next };
  };
  const wait = (id: string, next: string): WrittenNode => ({ id, type: 'wait', duration_ms: HOUR_MS, next });
  const awaiting: WrittenNode = {
    id: 'e',
    type: 'wait_for_event',
    event: 'custom_answer',
    timeout_ms: 3 * DAY_MS,
    next: 'sent',
    timeout_next: 'late',
  };
  const rest = [
    send('sent', 'w'),
    wait('w', 'end'),
    send('late', 'l'),
    wait('l', 'end'),
    { id: 'end', type: 'end' },
  ];
  const update: WrittenNode = { id: 'u', type: 'update_player', set: { traits: { seen: true } }, next: 'e' };
  const call: WrittenNode = { id: 'c', type: 'call_webhook', url: 'https://example.com/hook', next: 's' };
  const settings = { re_entry: { mode: 'after_exit' }, exit_on: [{ event: 'custom_leave' }] };
  return {
    waiting: await world.journey([awaiting, ...rest], settings),
    calling: await world.journey([call, send('s', 'u'), update, awaiting, ...rest], settings),
  };
}

/** A run begins to wait for an event ∥ the event, and sometimes the merge of its player. */
export const enterAndEvent: Scenario = async (world, { waiting }, random) => {
  const [player_id, survivor] = [await world.player(), await world.player()];
  const run_id = await begin(world, waiting, player_id);
  const met = new Meeting(world, random);
  met.join('runner', ({ runner }) => runner.turn());
  met.event('event', player_id, 'custom_answer');
  const is_merged = random.chance(0.3);
  if (is_merged) met.merge(player_id, survivor);
  const complaints = [...(await met.run()), ...(await complaintsAboutTimers(world))];
  // An event counts that came after it was noted where the log ends, however late the wait becomes visible.
  const counts = met.before('runner: ends of the log', 'event: append');
  // An event of a player who was merged before the run began to wait is none of the survivor's.
  const is_plain = !is_merged || met.before('runner: commit', 'merge: commit');
  await world.drain();
  const [answered] = await stepsOf(world, run_id);
  if (counts && is_plain && answered?.outcome !== 'event') complaints.push('the event was not honoured');
  if (!counts && !is_merged && answered !== undefined)
    complaints.push('an event before the wait was honoured');
  return met.report([...complaints, ...(await endOf(world, waiting, [run_id]))]);
};

/** Some of: the time-out, cancelling, the awaited event, an event that ends runs, all of one run. */
export const ends: Scenario = async (world, { waiting }, random) => {
  const player_id = await world.player();
  const run_id = await begin(world, waiting, player_id);
  await world.drain();
  const is_late = random.chance(0.6);
  if (is_late) world.pass(3 * DAY_MS);
  const met = new Meeting(world, random);
  const chosen = (probability: number) => random.chance(probability);
  if (is_late || chosen(0.5)) met.join('runner', ({ runner }) => runner.turn());
  if (chosen(0.3)) met.join('second runner', ({ runner }) => runner.turn());
  const is_answered = chosen(0.5);
  if (is_answered) met.event('event', player_id, 'custom_answer');
  const is_leaving = chosen(0.4);
  if (is_leaving) met.event('exit', player_id, 'custom_leave');
  const is_cancelled = chosen(0.6);
  const cancelled = is_cancelled ? met.cancel(waiting, run_id) : Promise.resolve(false);
  const complaints = [...(await met.run()), ...(await complaintsAboutTimers(world))];
  const was_cancelled = await cancelled.catch(() => false);
  await world.drain();
  const [run] = (await runsOf(world, waiting)).filter((one) => one.run_id === run_id);
  if (run === undefined) throw new Error('unreachable');
  if (was_cancelled && run.status !== 'cancelled') complaints.push(`cancelled, but ${run.status}`);
  if (!was_cancelled && run.status === 'cancelled') complaints.push('cancelled by nobody');
  if (is_cancelled && !was_cancelled && run.outcome !== 'exited')
    complaints.push('not cancelled, but running');
  if (is_leaving && !was_cancelled && run.outcome !== 'exited') complaints.push('the exit was not honoured');
  const [first] = await stepsOf(world, run_id);
  const is_ended = was_cancelled || run.outcome === 'exited';
  if (is_answered && !is_late && !is_ended && first?.outcome !== 'event')
    complaints.push(`the event came, but the outcome is ${first?.outcome ?? 'none'}`);
  if (!is_answered && !is_late && !is_ended && first !== undefined)
    complaints.push(`nothing came, but the outcome is ${first.outcome}`);
  return met.report([...complaints, ...(await endOf(world, waiting, [run_id]))]);
};

/** A player is merged ∥ its run advances, its webhook is answered, it enters again, its run is answered. */
export const mergeAndAdvance: Scenario = async (world, { calling, waiting }, random) => {
  const [gone, survivor] = [await world.player(), await world.player()];
  const journey = random.chance(0.6) ? calling : waiting;
  const runs: string[] = [];
  // In some of the meetings both have a run: the younger one is cancelled.
  const with_runs = random.pick([[gone], [gone, survivor], [survivor, gone], []]);
  for (const player_id of with_runs) {
    runs.push(await begin(world, journey, player_id));
    world.pass(1);
  }
  const is_entered = random.chance(0.7);
  if (is_entered) await world.drain();
  const met = new Meeting(world, random);
  met.merge(gone, survivor);
  const of_gone = runs[with_runs.indexOf(gone)];
  if (of_gone !== undefined && journey === calling && is_entered) met.answer(of_gone);
  met.join('runner', ({ runner }) => runner.turn());
  if (random.chance(0.4)) met.join('second runner', ({ runner }) => runner.turn());
  const is_answered = journey === waiting && is_entered && of_gone !== undefined && random.chance(0.6);
  if (is_answered) met.event('event', gone, 'custom_answer');
  const entered =
    of_gone === undefined || random.chance(0.2)
      ? met.actor('entry', ({ postgres }) => retryConflicts(() => world.enter(journey, gone, postgres)))
      : Promise.resolve(undefined);
  const complaints = [...(await met.run()), ...(await complaintsAboutTimers(world))];
  const run_id = await entered.catch(() => undefined);
  if (run_id !== undefined) runs.push(run_id);
  const left = await world.sql<{ what: string }[]>`
    select 'run' as what from journey_runs where player_id = ${gone}
    union all select 'wait' from journey_waits where player_id = ${gone}
    union all select 'message' from message_sends where player_id = ${gone}`;
  for (const { what } of left) complaints.push(`a ${what} of the merged player is left`);
  if (is_answered) {
    await world.drain();
    const [run] = (await runsOf(world, journey)).filter((one) => one.run_id === of_gone);
    const [first] = await stepsOf(world, of_gone);
    if (run?.status !== 'cancelled' && first?.outcome !== 'event')
      complaints.push('the event was not honoured');
  }
  return met.report([...complaints, ...(await endOf(world, journey, runs))]);
};

/** A journey is deleted ∥ a run of it comes due that has a message queued and a webhook pending. */
export const deleteAndAdvance: Scenario = async (world, { calling }, random) => {
  const nodes = calling.written.graph.nodes.map((node) =>
    node.id === 'c' ? { ...node, wait_for_response: false } : node,
  );
  const journey = await world.journey(nodes);
  const run_id = await begin(world, journey, await world.player());
  if (random.chance(0.5)) await world.drain();
  world.pass(3 * DAY_MS);
  const met = new Meeting(world, random);
  const ref = { ...world.project, journey_id: journey.journey_id };
  met.join('delete', async ({ postgres }) => {
    await asking(() =>
      postgres.asTenant(ref.tenant_id, async (tx) => {
        await lockJourney(tx, ref);
        await softDeleteJourney(tx, ref, world.now);
      }),
    );
    await runCancelJob({ postgres, clock: world.clock }, ref, STOP);
  });
  met.join('runner', ({ runner }) => runner.turn());
  if (random.chance(0.5)) met.join('second runner', ({ runner }) => runner.turn());
  const complaints = await met.run();
  const [run] = await runsOf(world, journey);
  if (run?.cancelled_by !== 'journey_deleted') complaints.push('the run was not cancelled');
  return met.report([...complaints, ...(await endOf(world, journey, [run_id]))]);
};

/** A journey is held and goes on ∥ a run of it comes due, or is answered. */
export const holdAndResume: Scenario = async (world, { waiting }, random) => {
  const player_id = await world.player();
  const run_id = await begin(world, waiting, player_id);
  const is_entered = random.chance(0.7);
  if (is_entered) await world.drain();
  const is_late = is_entered && random.chance(0.6);
  if (is_late) world.pass(3 * DAY_MS);
  const met = new Meeting(world, random);
  const is_held_at_end = random.chance(0.3);
  met.join('holder', async (hands) => {
    await hold(world, waiting, hands);
    if (!is_held_at_end) await resume(world, waiting, hands);
    if (random.chance(0.2) && !is_held_at_end) {
      await hold(world, waiting, hands);
      await resume(world, waiting, hands);
    }
  });
  met.join('runner', ({ runner }) => runner.turn());
  if (random.chance(0.6)) met.join('second runner', ({ runner }) => runner.turn());
  const is_answered = is_entered && random.chance(0.4);
  if (is_answered) met.event('event', player_id, 'custom_answer');
  const complaints = [...(await met.run()), ...(await complaintsAboutTimers(world))];
  await world.drain();
  if (is_held_at_end) await resume(world, waiting, world.at_once);
  complaints.push(...(await complaintsAboutTimers(world)));
  await world.drain();
  const [first] = await stepsOf(world, run_id);
  if (is_answered && !is_late && first?.outcome !== 'event') complaints.push('the event was not honoured');
  return met.report([...complaints, ...(await endOf(world, waiting, [run_id]))]);
};

async function hold(
  world: World,
  { journey_id }: Journey,
  { postgres }: Pick<Hands, 'postgres'>,
): Promise<void> {
  const ref = { ...world.project, journey_id };
  await asking(() =>
    postgres.asTenant(ref.tenant_id, async (tx) => {
      await lockJourney(tx, ref);
      await pauseRow(tx, ref, true, world.now);
    }),
  );
}

async function resume(
  world: World,
  { journey_id }: Journey,
  { postgres }: Pick<Hands, 'postgres'>,
): Promise<void> {
  const ref = { ...world.project, journey_id };
  const live = { status: 'active', version: 1, trigger_event: null, activated_at: world.now } as const;
  await asking(() =>
    postgres.asTenant(ref.tenant_id, async (tx) => {
      await lockJourney(tx, ref);
      await setLive(tx, ref, live, world.now);
    }),
  );
  const payload = { ...ref, resume: 'run', since: world.now.toISOString() };
  await retryConflicts(() => runResumeJob({ postgres, clock: world.clock }, payload, STOP));
}

/** Where a machine stands still, a request does not get its lock in time: the answer is 503, and it is made once more. */
function asking<T>(ask: () => Promise<T>): Promise<T> {
  return ask().catch((error: unknown) => (isLockTimeout(error) ? ask() : Promise.reject(error)));
}

async function begin(world: World, journey: Journey, player_id: string): Promise<string> {
  const run_id = await world.enter(journey, player_id);
  if (run_id === undefined) throw new Error('the player did not enter');
  return run_id;
}

/** Lets the runs of a meeting go on to their ends; returns what is wrong with them. */
async function endOf(world: World, journey: Journey, run_ids: readonly string[]): Promise<string[]> {
  const complaints: string[] = [];
  for (let rests = 0; rests < MAX_RESTS; rests++) {
    await world.drain();
    world.pass(LONG_MS);
  }
  const runs = new Map<string, StoredRun>((await runsOf(world, journey)).map((run) => [run.run_id, run]));
  for (const run_id of run_ids) {
    const run = runs.get(run_id);
    if (run === undefined) complaints.push(`run ${run_id} is lost`);
    else complaints.push(...(await complaintsAboutEnded(world, journey, run)));
  }
  return complaints;
}

/** The actors of one meeting. */
class Meeting {
  readonly #world: World;
  readonly #stepper: Stepper;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#stepper = new Stepper(random, world.postgres);
  }

  /** Adds an actor without a result. */
  join(name: string, work: (hands: Hands, turns: Turns) => Promise<unknown>): void {
    void this.actor(name, work);
  }

  /** Adds an actor; its result is that of `work`. */
  actor<T>(name: string, work: (hands: Hands, turns: Turns) => Promise<T>): Promise<T> {
    return this.#stepper.actor(name, (turns) => work(this.#world.handsOf(turns), turns));
  }

  event(name: string, player_id: string, event: string): void {
    this.join(name, async ({ matcher }, { step }) => {
      const batch = await step('append', () => this.#world.append(player_id, event));
      await matcher.handle(batch);
    });
  }

  merge(player_id: string, into_player_id: string): void {
    this.join('merge', ({ postgres }) =>
      asking(() => this.#world.merge(player_id, into_player_id, postgres)),
    );
  }

  /** Whether it was cancelled; rejects unless the reason is that it had ended. */
  cancel({ journey_id }: Journey, run_id: string): Promise<boolean> {
    const { project, clock } = this.#world;
    return this.actor('cancel', async ({ postgres }) => {
      const deps = { postgres, clock, audit: auditNothing };
      const cancel = () => cancelRun(deps, { ...project, journey_id, run_id }, 'somebody');
      try {
        await asking(cancel);
        return true;
      } catch (error) {
        if (error instanceof ApiError && error.code === 'JOURNEY_RUN_INVALID_STATUS') return false;
        throw error;
      }
    });
  }

  /** The answer of a run's webhook. */
  answer(run_id: string): void {
    const { project, now } = this.#world;
    const result = {
      ...project,
      event_id: uuidv5('c', run_id),
      attempts: 0,
      player_id: run_id,
      subscription_id: null,
      run_id,
      seq: 1,
      wait_for_response: true,
      save_as: null,
      status: 'delivered' as const,
      next_at: now,
      is_void: false,
      was_not_sent: false,
      last_status: 200,
      last_error: null,
      last_reason: null,
      response: null,
      saved: null,
    };
    this.join('answer', ({ postgres }) =>
      retryConflicts(() => postgres.service.begin((tx) => writeResults(tx, [result], now))),
    );
  }

  /** Returns which actors failed. */
  run(): Promise<string[]> {
    return this.#stepper.run();
  }

  /** Whether the one happened, and for the last time before the other first did. */
  before(what: string, other: string): boolean {
    const { trace } = this.#stepper;
    const [last, first] = [trace.lastIndexOf(what), trace.indexOf(other)];
    return last !== -1 && (first === -1 || last < first);
  }

  /** What was wrong, and in which order it came to that. */
  report(complaints: readonly string[]): string[] {
    return complaints.length === 0 ? [] : [...complaints, ...this.#stepper.trace];
  }
}
