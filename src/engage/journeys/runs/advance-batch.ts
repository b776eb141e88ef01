import type { Tx } from '../../../platform/postgres/port.ts';
import type { Clock } from '../../../platform/clock.ts';
import { WriteConflict } from '../../../platform/postgres/retry.ts';
import { cancelJourneySends } from '../../messaging/journey-send-queries.ts';
import { cancelDeliveries } from '../../webhooks/delivery-queries.ts';
import { advance } from './advance.ts';
import { BatchLoad, inTurns } from './batch-load.ts';
import { lockRuns, type Timer } from './claim-queries.ts';
import type { Definitions, LoadedVersion } from './definitions.ts';
import { decideGrants, grantIdOf, grantsOf, type GrantingRun } from './grants.ts';
import { applyEffects, eventIdOf, type RunEffect } from './effects.ts';
import { answerKey, NO_ANSWERS, readFacts, type Answers } from './facts.ts';
import { selectJourneyStates, type JourneyState } from './facts-queries.ts';
import { placeOfWait, versionKey, type RunningRow, type RunRef } from './run-row.ts';
import type { Advanced, Facts, Rest, Step } from './shapes.ts';
import type { WaitStarts } from './wait-starts.ts';
import {
  deleteWaits,
  insertSteps,
  insertTimers,
  insertWaits,
  postponeRuns,
  updateRuns,
  type MovedRun,
  type NewWait,
  type StepRow,
} from './write-queries.ts';

/** The code of a run that could not go on because of a fault in its data or in this program. */
export const STEP_ERROR = 'JOURNEY_STEP_ERROR';

/** How long a run rests while its question is answered, and one whose version this program cannot read. */
const ANSWERING_MS = 15_000;
const UNREADABLE_MS = 60_000;
/** How long a run rests that could not even be failed. */
const UNFAILED_MS = 60_000;
/** How long a run rests that is to wait for an event while the log does not say where it ends. */
const WITHOUT_START_MS = 5_000;

/** A run that waits for the answer to a question about its player; its timer is due when the answer is given up. */
export interface AskingRun {
  timer: Timer;
  run: RunningRow;
  version: Extract<LoadedVersion, { definition: object }>;
  factsOf: (answers: Answers) => Facts;
}

/** What became of a batch. */
export interface BatchResult {
  /** Timers that were claimed; some may have been of an earlier rest. */
  claimed: number;
  /** Those of runs that did not fit into the batch: they are set again as they were. */
  left: readonly Timer[];
  /** Runs that moved, by what they do now. */
  moved: Readonly<Record<'resting' | 'completed' | 'failed' | 'cancelled', number>>;
  held: number;
  /** Runs that are to wait for an event, but nobody noted where the log ended. */
  without_start: number;
  /** Runs that have begun to wait for an event. */
  waiting: number;
  asking: readonly AskingRun[];
  /** Versions that could not be read, and why. */
  unreadable: ReadonlyMap<string, { ref: RunningRow; reason: string }>;
  /** Runs whose step threw an error, and what it was. */
  errors: readonly { run_id: string; error: unknown }[];
  writes: { steps: readonly Pick<StepRow, 'node_type' | 'status'>[] };
}

/** What a batch needs in addition to its transaction. */
export interface BatchContext {
  definitions: Definitions;
  clock: Clock;
  /** Where the log ended before the transaction, for runs that begin to wait for an event; undefined: nobody noted it. */
  starts: WaitStarts | undefined;
  /** By `answerKey`. */
  answers: ReadonlyMap<string, Answers> | undefined;
  /** The key under which protections of erased people are kept. */
  erasure_key: Buffer;
}

/** What a batch would write cannot be put into statements; some run of it is at fault. */
export class Unwritable extends Error {
  override readonly name = 'Unwritable';
}

/** Everything that a batch writes. */
interface Writes {
  steps: StepRow[];
  runs: MovedRun[];
  timers: Timer[];
  waits: NewWait[];
  woken: RunRef[];
  postponed: Timer[];
  effects: RunEffect[];
}

/** What happened to the runs of a batch so far, and what is to be written. */
interface Batch extends Omit<BatchResult, 'left' | 'asking' | 'unreadable' | 'errors' | 'moved'> {
  load: BatchLoad;
  left: readonly Timer[];
  moved: Record<keyof BatchResult['moved'], number>;
  asking: AskingRun[];
  unreadable: Map<string, { ref: RunningRow; reason: string }>;
  errors: { run_id: string; error: unknown }[];
  granting: (GrantingRun & { wait: NewWait | undefined })[];
  writes: Writes;
  now_ms: number;
}

function newBatch(claimed: number, now_ms: number): Batch {
  return {
    claimed,
    load: new BatchLoad(),
    left: [],
    moved: { resting: 0, completed: 0, failed: 0, cancelled: 0 },
    held: 0,
    without_start: 0,
    waiting: 0,
    asking: [],
    unreadable: new Map(),
    errors: [],
    granting: [],
    writes: { steps: [], runs: [], timers: [], waits: [], woken: [], postponed: [], effects: [] },
    now_ms,
  };
}

/**
 * Moves the runs of claimed timers to their next rest, within the transaction that has claimed them. What the steps do
 * is written in it too: either a run has moved and each effect has its row, or nothing has happened.
 */
export async function advanceClaimed(
  tx: Tx,
  timers: readonly Timer[],
  { definitions, clock, starts, answers, erasure_key }: BatchContext,
): Promise<BatchResult> {
  const runs = timers.length === 0 ? [] : await lockRuns(tx, timers);
  const batch = newBatch(timers.length, clock.now_ms());
  if (runs.length === 0) return batch;
  const [states, versions] = await Promise.all([
    // After the timers were deleted: see `selectJourneyStates`.
    selectJourneyStates(tx, runs),
    definitions.load(tx, runs),
  ]);
  const factsOf = await readFacts(tx, runs, versions, batch.now_ms);
  const state_of = new Map(states.map((state) => [state.journey_id, state]));
  const turns = inTurns(runs);
  for (const [i, run] of turns.entries()) {
    if (batch.load.is_full) {
      batch.left = timersOf(timers, turns.slice(i));
      break;
    }
    const version = versions.get(versionKey(run));
    const state = state_of.get(run.journey_id);
    if (state === undefined || state.is_deleted) {
      cancel(batch.writes, run, version, batch.now_ms);
      batch.moved.cancelled += 1;
    } else if (isHeld(state, run)) batch.held += 1;
    else if (version?.definition === undefined) {
      const reason = version?.unreadable ?? 'it is unknown';
      batch.unreadable.set(versionKey(run), { ref: run, reason });
      batch.writes.postponed.push(timerOf(run, batch.now_ms + UNREADABLE_MS));
    } else {
      advanceRun(batch, run, version, { factsOf: (given) => factsOf(run, given), starts, answers });
    }
  }
  await moveGranting(tx, clock, batch);
  batch.waiting = batch.writes.waits.length;
  batch.writes.timers.push(...batch.left);
  const now = new Date(batch.now_ms);
  const effects = batch.writes.effects;
  await orUnwritable(
    Promise.all([...write(tx, batch.writes, now), applyEffects(tx, erasure_key, effects, now)]),
  );
  await cancelQueued(tx, batch.writes.runs);
  return batch;
}

/** Moves the runs on whose way bonuses are granted, once it is decided which. */
async function moveGranting(tx: Tx, clock: Clock, batch: Batch): Promise<void> {
  const { granting, now_ms } = batch;
  if (granting.length === 0) return;
  await orUnwritable(decideGrants(tx, clock, granting, now_ms));
  for (const { run, advanced, wait } of granting) {
    batch.moved[advanced.rest.kind === 'end' ? advanced.rest.status : 'resting'] += 1;
    // A run that a refused bonus has ended waits for nothing.
    move(batch.writes, run, advanced, { now_ms, wait: advanced.rest.kind === 'event' ? wait : undefined });
  }
}

/** Whether a run stands still. What came due while its journey was held does so until the journey has resumed. */
function isHeld({ is_held, resuming_since }: JourneyState, { due_at }: RunningRow): boolean {
  return is_held || (resuming_since !== null && due_at !== null && due_at < resuming_since);
}

/** What is queued for runs that were cancelled does not happen. */
async function cancelQueued(tx: Tx, runs: readonly MovedRun[]): Promise<void> {
  const cancelled = runs.filter(({ status }) => status === 'cancelled');
  await cancelJourneySends(tx, cancelled);
  await cancelDeliveries(tx, cancelled);
}

function advanceRun(
  batch: Batch,
  run: RunningRow,
  version: AskingRun['version'],
  context: Pick<AskingRun, 'factsOf'> & Pick<BatchContext, 'starts' | 'answers'>,
): void {
  const { factsOf, starts, answers } = context;
  const { writes, now_ms } = batch;
  const state = stateOf(run, now_ms);
  let advanced: Advanced;
  let facts: Facts;
  try {
    facts = factsOf(answers?.get(answerKey(run)) ?? NO_ANSWERS);
    advanced = advance(version.definition, state, facts, now_ms);
  } catch (error) {
    batch.errors.push({ run_id: run.run_id, error });
    fail(writes, run, version, now_ms);
    batch.moved.failed += 1;
    return;
  }
  if ('needs' in advanced) {
    const timer = timerOf(run, now_ms + ANSWERING_MS);
    writes.postponed.push(timer);
    batch.asking.push({ timer, run, version, factsOf });
    return;
  }
  const { steps, effects, rest } = advanced;
  const wait = rest.kind === 'event' ? waitOf(run, rest, starts) : undefined;
  if (wait === 'without start') {
    batch.without_start += 1;
    writes.postponed.push(timerOf(run, now_ms + WITHOUT_START_MS));
    return;
  }
  batch.load.add(run, steps, effects);
  if (grantsOf(advanced).length > 0) {
    batch.granting.push({ run, state, definition: version.definition, facts, advanced, wait });
    return;
  }
  batch.moved[rest.kind === 'end' ? rest.status : 'resting'] += 1;
  move(writes, run, advanced, { now_ms, wait });
}

/** Fails the runs of timers that the transaction has claimed: what they would write was refused. Returns how many. */
export async function failClaimed(
  tx: Tx,
  timers: readonly Omit<Timer, 'due_at'>[],
  { definitions, clock }: Pick<BatchContext, 'definitions' | 'clock'>,
  error_code = STEP_ERROR,
): Promise<number> {
  const runs = await lockRuns(tx, timers);
  const versions = await definitions.load(tx, runs);
  const { writes, now_ms } = newBatch(timers.length, clock.now_ms());
  for (const run of runs) fail(writes, run, versions.get(versionKey(run)), now_ms, error_code);
  // A run must be able to fail with any data: otherwise it would stop its batch for ever.
  await orUnwritable(Promise.all(write(tx, writes, new Date(now_ms), true)));
  return runs.length;
}

/** Lets the runs of timers that the transaction has claimed rest for a minute more. Returns how many. */
export async function postponeClaimed(tx: Tx, timers: readonly Timer[], clock: Clock): Promise<number> {
  const runs = await lockRuns(tx, timers);
  const due_ms = clock.now_ms() + UNFAILED_MS;
  await postponeRuns(
    tx,
    runs.map((run) => timerOf(run, due_ms)),
  );
  return runs.length;
}

/** A run as `advance` takes it. A claimed run is due, even if its row was given a later time while it was postponed. */
export function stateOf(run: RunningRow, now_ms: number) {
  return {
    run_id: run.run_id,
    journey_id: run.journey_id,
    player_id: run.player_id,
    node_id: run.node_id,
    seq: run.seq,
    entered_at_ms: run.entered_at?.getTime(),
    due_at_ms: Math.min(run.due_at?.getTime() ?? now_ms, now_ms),
    context: run.context,
    woken_by: run.woken_by ?? undefined,
  };
}

function timerOf({ tenant_id, project_id, run_id, seq }: RunningRow, due_ms: number): Timer {
  return { tenant_id, project_id, run_id, seq, due_at: new Date(due_ms) };
}

/** The claimed timers of these runs. */
function timersOf(timers: readonly Timer[], runs: readonly RunningRow[]): Timer[] {
  const seq_of = new Map(runs.map(({ run_id, seq }) => [run_id, seq]));
  return timers.filter(({ run_id, seq }) => seq_of.get(run_id) === seq);
}

function refOf({ tenant_id, project_id, run_id }: RunRef): RunRef {
  return { tenant_id, project_id, run_id };
}

function move(
  writes: Writes,
  run: RunningRow,
  { steps, effects, rest }: Exclude<Advanced, { needs: unknown }>,
  { now_ms, wait }: { now_ms: number; wait: NewWait | undefined },
): void {
  const { tenant_id, project_id, run_id } = run;
  let refs: Map<number, string> | undefined;
  for (const effect of effects) {
    writes.effects.push({ run, effect });
    if (effect.kind === 'delivery' || effect.kind === 'grant') {
      const ref = (effect.kind === 'grant' ? grantIdOf : eventIdOf)(run, effect.node.id);
      refs = (refs ?? new Map<number, string>()).set(effect.seq, ref);
    }
  }
  let was_waiting = false;
  for (const step of steps) {
    writes.steps.push(stepRow(run, step, refs?.get(step.seq)));
    was_waiting ||= step.node_type === 'wait_for_event';
  }
  if (was_waiting) writes.woken.push(refOf(run));
  if (rest.kind === 'end') {
    const { status, node_id, seq, outcome, error_code } = rest;
    writes.runs.push({
      tenant_id,
      project_id,
      run_id,
      status,
      node_id,
      seq,
      entered_at_ms: null,
      due_at_ms: null,
      woken_by: null,
      outcome: outcome ?? null,
      error_code: error_code ?? null,
      cancelled_by: null,
    });
    return;
  }
  const stays = steps.length === 0 && run.entered_at !== null;
  writes.runs.push({
    tenant_id,
    project_id,
    run_id,
    status: 'running',
    node_id: rest.node_id,
    seq: rest.seq,
    entered_at_ms: stays ? (run.entered_at?.getTime() ?? now_ms) : now_ms,
    due_at_ms: rest.due_at_ms,
    woken_by: rest.kind === 'rate' ? keptBehind(run) : null,
    outcome: null,
    error_code: null,
    cancelled_by: null,
  });
  writes.timers.push({ tenant_id, project_id, run_id, seq: rest.seq, due_at: new Date(rest.due_at_ms) });
  if (wait !== undefined) writes.waits.push(wait);
}

/** A wait for a rate is not a wait of the journey: the run keeps from where its next wait counts, and what a branch must see. */
function keptBehind(run: RunningRow): MovedRun['woken_by'] {
  const place = placeOfWait(run);
  return place === undefined
    ? null
    : { kind: 'rate', behind: { ...place, from_offset: String(place.from_offset) } };
}

const NOT_RESTING = {
  entered_at_ms: null,
  due_at_ms: null,
  woken_by: null,
  outcome: null,
  error_code: null,
  cancelled_by: null,
} as const;

/**
 * A wait that a run enters before its first rest counts the player's events from what started the run, and one that it
 * enters by an event those behind that event, so that what arrives while the run is being moved is not lost.
 */
function waitOf(
  run: RunningRow,
  { event, seq }: Extract<Rest, { kind: 'event' }>,
  starts: WaitStarts | undefined,
): NewWait | 'without start' {
  const wait = { ...refOf(run), event, seq, player_id: run.player_id };
  const place = placeOfWait(run) ?? starts?.of(run);
  return place === undefined ? 'without start' : { ...wait, ...place };
}

/** Written out, as all rows of which a batch has thousands: a spread object takes several times as long and as much memory. */
function stepRow({ tenant_id, project_id, run_id }: RunRef, step: Step, id: string | undefined): StepRow {
  return {
    tenant_id,
    project_id,
    run_id,
    seq: step.seq,
    node_id: step.node_id,
    node_type: step.node_type,
    status: step.status,
    outcome: step.outcome,
    next_node_id: step.next_node_id ?? null,
    entered_at_ms: step.entered_at_ms,
    completed_at_ms: step.completed_at_ms,
    ref: id ?? null,
    error_code: step.error_code ?? null,
  };
}

/** Ends a run where it stands. */
function end(
  writes: Writes,
  run: RunningRow,
  version: LoadedVersion | undefined,
  now_ms: number,
  how: Pick<StepRow, 'status' | 'outcome' | 'error_code'> & Pick<MovedRun, 'cancelled_by'>,
): void {
  const ref = refOf(run);
  const node_type = version?.definition?.graph.nodes.get(run.node_id)?.type ?? 'end';
  const { status, outcome, error_code, cancelled_by } = how;
  writes.steps.push({
    ...ref,
    seq: run.seq,
    node_id: run.node_id,
    node_type,
    status,
    outcome,
    next_node_id: null,
    entered_at_ms: run.entered_at?.getTime() ?? now_ms,
    completed_at_ms: now_ms,
    ref: null,
    error_code,
  });
  writes.woken.push(ref);
  writes.runs.push({
    ...ref,
    ...NOT_RESTING,
    status: cancelled_by === null ? 'failed' : 'cancelled',
    node_id: run.node_id,
    seq: run.seq,
    error_code,
    cancelled_by,
  });
}

function fail(
  writes: Writes,
  run: RunningRow,
  version: LoadedVersion | undefined,
  now_ms: number,
  error_code = STEP_ERROR,
): void {
  const how = { status: 'failed', outcome: 'failed', error_code, cancelled_by: null } as const;
  end(writes, run, version, now_ms, how);
}

function cancel(writes: Writes, run: RunningRow, version: LoadedVersion | undefined, now_ms: number): void {
  const cancelled_by = 'journey_deleted';
  end(writes, run, version, now_ms, {
    status: 'skipped',
    outcome: 'cancelled',
    error_code: null,
    cancelled_by,
  });
}

/** Writes everything but the effects. Locks come in the order runs (held already), waits, and what only these transactions lock. */
function write(tx: Tx, writes: Writes, now: Date, keeps_steps = false): Promise<void>[] {
  return [
    updateRuns(tx, writes.runs, now),
    deleteWaits(tx, writes.woken),
    insertWaits(tx, writes.waits, now),
    insertSteps(tx, writes.steps, keeps_steps),
    postponeRuns(tx, writes.postponed),
    insertTimers(tx, writes.timers),
  ];
}

async function orUnwritable<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (cause) {
    if (!isOfProgram(cause)) throw cause;
    throw new Unwritable('what runs of the batch do cannot be written', { cause });
  }
}

/** Errors of making a statement, which have a code as those of Postgres and the network have. */
const STATEMENT_CODES: readonly unknown[] = ['ERR_STRING_TOO_LONG', 'UNDEFINED_VALUE'];

/** Whether this program threw the error, not Postgres or the network: repeating the batch would not help. */
function isOfProgram(error: unknown): boolean {
  if (error instanceof WriteConflict) return false;
  if (error instanceof RangeError || error instanceof TypeError) return true;
  const { code } = error as { code?: unknown };
  return typeof code !== 'string' || STATEMENT_CODES.includes(code);
}
