import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { NewJob } from '../../platform/jobs/port.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { endResuming, selectJourney, type JourneyRef } from './graph/queries.ts';
import { endRuns, MAX_ENDED } from './runs/cancel.ts';
import { rearmRuns, selectStanding, type RunPosition } from './runs/move-queries.ts';
import { spread } from './spread.ts';

/** Cancels the runs of a deleted journey. */
export const CANCEL_RUNS_TASK = 'journey-cancel-runs';
/** Gives the runs of a journey that was held their timers again. */
export const RESUME_RUNS_TASK = 'journey-resume-runs';

const MAX_ATTEMPTS = 10;

const journeyRef = z.strictObject({ tenant_id: z.uuid(), project_id: z.uuid(), journey_id: z.uuid() });
const resumePayload = journeyRef.extend({ resume: z.enum(['run', 'skip']), since: z.iso.datetime() });

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

export function cancelJob({ tenant_id, project_id, journey_id }: JourneyRef): NewJob {
  const payload = { tenant_id, project_id, journey_id };
  return {
    task: CANCEL_RUNS_TASK,
    payload,
    max_attempts: MAX_ATTEMPTS,
    job_key: `${CANCEL_RUNS_TASK} ${journey_id}`,
  };
}

/** `since`: when the journey was activated. `skip` cancels the runs that came due before. */
export function resumeJob(
  { tenant_id, project_id, journey_id }: JourneyRef,
  resume: 'run' | 'skip',
  since: Date,
): NewJob {
  const payload = { tenant_id, project_id, journey_id, resume, since: since.toISOString() };
  return { task: RESUME_RUNS_TASK, payload, max_attempts: MAX_ATTEMPTS };
}

/** The task `journey-cancel-runs`. It ends when no run is left: a page is not full when some of its runs ended meanwhile. */
export async function runCancelJob(
  { postgres, clock }: Deps,
  payload: unknown,
  stop: AbortSignal,
): Promise<void> {
  const scope = journeyRef.parse(payload);
  for (let ended = 1; ended > 0;) {
    stop.throwIfAborted();
    const ending = { cancelled_by: 'journey_deleted', now: new Date(clock.now_ms()), limit: MAX_ENDED };
    ended = await retryConflicts(() => postgres.service.begin((tx) => endRuns(tx, scope, ending)));
  }
}

/** What a job resumes: the runs of a journey that was activated at `since`, after it was held. */
interface Resumed {
  ref: JourneyRef;
  resume: 'run' | 'skip';
  since: Date;
}

/**
 * The task `journey-resume-runs`. Runs that came due before the activation go on at the journey's entry rate, or are
 * cancelled; until then they stand still. A journey that is held again keeps its runs standing.
 */
export async function runResumeJob(deps: Deps, payload: unknown, stop: AbortSignal): Promise<void> {
  const { resume, since, ...ref } = resumePayload.parse(payload);
  const resumed = { ref, resume, since: new Date(since) };
  const overdue = await resumeAll(deps, resumed, { is_repeated: false, overdue: 0 }, stop);
  await endResuming(deps.postgres.service, ref, resumed.since);
  // What was claimed before has seen the journey resuming, and may have dropped timers behind the first walk.
  await resumeAll(deps, resumed, { is_repeated: true, overdue }, stop);
}

/** Walks over the runs of the journey; returns how many came due while it was held. */
async function resumeAll(
  deps: Deps,
  resumed: Resumed,
  { is_repeated, overdue }: { is_repeated: boolean; overdue: number },
  stop: AbortSignal,
): Promise<number> {
  for (let after: RunPosition | undefined; ;) {
    stop.throwIfAborted();
    const from = { after, overdue, is_repeated };
    const page = await retryConflicts(() =>
      deps.postgres.service.begin((tx) => resumePage(deps, tx, resumed, from)),
    );
    if (page === undefined) return overdue;
    ({ after, overdue } = page);
  }
}

/** Undefined: no run is left, or the journey is held again, deleted, or resumed by the job of a later activation. */
async function resumePage(
  { clock }: Deps,
  tx: Tx,
  { ref, resume, since }: Resumed,
  from: { after: RunPosition | undefined; overdue: number; is_repeated: boolean },
): Promise<{ after: RunPosition; overdue: number } | undefined> {
  const [journey] = await selectJourney(tx, ref);
  if (journey === undefined || journey.is_held || journey.deleted_at !== null) return undefined;
  if (journey.resuming_since !== null && journey.resuming_since.getTime() !== since.getTime())
    return undefined;
  const runs = await selectStanding(tx, ref, undefined, from.after);
  const after = runs.at(-1);
  if (after === undefined) return undefined;
  const now_ms = Math.max(clock.now_ms(), since.getTime());
  const late = runs.filter(({ due_at }) => due_at !== null && due_at < since);
  const others = from.is_repeated ? [] : runs.filter(({ due_at }) => due_at !== null && due_at >= since);
  const moves = others.map(({ run_id, seq }): Rearmed => ({ run_id, seq, due_at: null }));
  if (resume === 'run') {
    for (const [i, { run_id, seq }] of late.entries()) {
      const due_at = spread(journey.settings, now_ms, from.overdue + i) ?? new Date(now_ms);
      moves.push({ run_id, seq, due_at });
    }
  } else if (late.length > 0) {
    const scope = { ...ref, run_ids: late.map(({ run_id }) => run_id), due_before: since };
    await endRuns(tx, scope, { cancelled_by: 'resume', now: new Date(now_ms), limit: late.length });
  }
  await rearmRuns(tx, ref, moves);
  return { after, overdue: from.overdue + late.length };
}

type Rearmed = Parameters<typeof rearmRuns>[2][number];
