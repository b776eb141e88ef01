import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { CronEntry, NewJob } from '../platform/jobs/port.ts';
import { takeDueSegments, type SegmentRef } from './queries.ts';
import { purgeSegment, refreshSegment, type RefreshDeps } from './refresh.ts';

export const REFRESH_TASK = 'segment-refresh';
export const PURGE_TASK = 'segment-purge';
export const SCHEDULE_TASK = 'segment-schedule';

const MAX_ATTEMPTS = 5;
const MAX_DUE = 1_000;

const segmentRef = z.strictObject({ tenant_id: z.uuid(), project_id: z.uuid(), segment_id: z.uuid() });

/** Refreshes a segment soon; of several orders for one segment one is enough. */
export function refreshJob(ref: SegmentRef): NewJob {
  return jobOf(REFRESH_TASK, ref);
}

/** Removes the members of a deleted segment. */
export function purgeJob(ref: SegmentRef): NewJob {
  return jobOf(PURGE_TASK, ref);
}

function jobOf(task: string, { tenant_id, project_id, segment_id }: SegmentRef): NewJob {
  const payload = { tenant_id, project_id, segment_id };
  return { task, payload, max_attempts: MAX_ATTEMPTS, job_key: `${task} ${segment_id}` };
}

/** Every minute: orders what is due. Each segment is a job of its own, so that one that fails stops no other. */
export const SEGMENT_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'segments due',
    match: '* * * * *',
    backfill_ms: 0,
    job: { task: SCHEDULE_TASK, payload: {}, max_attempts: 1, job_key: SCHEDULE_TASK },
  },
];

/** The task: a segment that was deleted meanwhile is left alone. */
export async function runRefreshJob(deps: RefreshDeps, payload: unknown): Promise<void> {
  try {
    await refreshSegment(deps, segmentRef.parse(payload));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'SEGMENT_NOT_FOUND') return;
    throw error;
  }
}

/** The task. */
export async function runPurgeJob(deps: RefreshDeps, payload: unknown): Promise<void> {
  await purgeSegment(deps, segmentRef.parse(payload));
}

/** The task: adds a job per segment that is due, in the transaction that moves when it is due next. */
export async function runScheduleJob({ postgres, jobs, clock, metrics }: RefreshDeps): Promise<void> {
  await postgres.service.begin(async (tx) => {
    const now_ms = clock.now_ms();
    const due = await takeDueSegments(tx, new Date(now_ms), MAX_DUE);
    const lags_ms = due.map(({ due_ms }) => now_ms - Number(due_ms));
    metrics.segmentScheduleLag.set(Math.max(0, ...lags_ms) / 1_000);
    for (const ref of due) await jobs.add(tx, refreshJob(ref));
  });
}
