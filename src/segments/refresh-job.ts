import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { CronEntry, NewJob } from '../platform/jobs/port.ts';
import { takeDueSegments, takeUnfinishedSegments, type SegmentRef } from './queries.ts';
import { purgeSegment, refreshSegment, type RefreshDeps } from './refresh.ts';

export const REFRESH_TASK = 'segment-refresh';
export const PURGE_TASK = 'segment-purge';
export const SCHEDULE_TASK = 'segment-schedule';

const MAX_ATTEMPTS = 5;
/** Due segments per run of the schedule; further ones wait for the next minute. */
const MAX_DUE = 1_000;
/** A repeated refresh that never ends is repeated once more. */
const REPEAT_AGAIN_MS = 600_000;

const segmentRef = z.strictObject({ tenant_id: z.uuid(), project_id: z.uuid(), segment_id: z.uuid() });

/** A job that refreshes the segment; it replaces a waiting one of the same segment. */
export function refreshJob(ref: SegmentRef): NewJob {
  return jobOf(REFRESH_TASK, ref);
}

/** A job that removes the members of a deleted segment. */
export function purgeJob(ref: SegmentRef): NewJob {
  return jobOf(PURGE_TASK, ref);
}

function jobOf(task: string, { tenant_id, project_id, segment_id }: SegmentRef): NewJob {
  const payload = { tenant_id, project_id, segment_id };
  return { task, payload, max_attempts: MAX_ATTEMPTS, job_key: `${task} ${segment_id}` };
}

/** Every minute: adds a job for each segment that is due, one per segment, so that a failing segment stops no other. */
export const SEGMENT_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'segments due',
    match: '* * * * *',
    backfill_ms: 0,
    job: { task: SCHEDULE_TASK, payload: {}, max_attempts: 1, job_key: SCHEDULE_TASK },
  },
];

/** The task `segment-refresh`; a segment that was deleted meanwhile is skipped. */
export async function runRefreshJob(deps: RefreshDeps, payload: unknown): Promise<void> {
  try {
    await refreshSegment(deps, segmentRef.parse(payload));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'SEGMENT_NOT_FOUND') return;
    throw error;
  }
}

/** The task `segment-purge`. */
export async function runPurgeJob(deps: RefreshDeps, payload: unknown): Promise<void> {
  await purgeSegment(deps, segmentRef.parse(payload));
}

/**
 * The task `segment-schedule`: one transaction claims the segments that are due, and those whose members may be
 * incomplete because a refresh failed or was interrupted, and adds a refresh job for each.
 */
export async function runScheduleJob({ postgres, jobs, clock, metrics }: RefreshDeps): Promise<void> {
  await postgres.service.begin(async (tx) => {
    const now_ms = clock.now_ms();
    const due = await takeDueSegments(tx, new Date(now_ms), MAX_DUE);
    const lags_ms = due.map(({ due_ms }) => now_ms - Number(due_ms));
    metrics.segmentScheduleLag.set(Math.max(0, ...lags_ms) / 1_000);
    const next = new Date(now_ms + REPEAT_AGAIN_MS);
    const unfinished = await takeUnfinishedSegments(tx, new Date(now_ms), next, MAX_DUE);
    for (const ref of [...due, ...unfinished]) await jobs.add(tx, refreshJob(ref));
  });
}
