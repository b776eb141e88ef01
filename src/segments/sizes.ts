import type { CronEntry } from '../platform/jobs/port.ts';
import type { Platform } from '../platform/platform.ts';
import type { SegmentRef } from './queries.ts';
import { removeSizes, selectSizes, writeSizes } from './size-queries.ts';

export const SIZES_TASK = 'segment-sizes';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** For how long each hour is kept, and for how long midnights are. */
const HOURS_KEPT_MS = 31 * DAY_MS;
export const KEPT_DAYS = 400;
/** For how long it may not have run without leaving rows of hours behind. */
const LOOKED_BACK_MS = 7 * DAY_MS;
/** Rows per statement. */
const MAX_WRITTEN = 2_000;
const MAX_REMOVED = 10_000;
/** More points than are kept of a segment. */
const MAX_POINTS = 24 * 32 + KEPT_DAYS;

/** Every hour: how many members each segment has. A missed hour is not made up: nobody knows any more. */
export const SIZES_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'segment sizes',
    match: '0 * * * *',
    backfill_ms: 0,
    job: { task: SIZES_TASK, payload: {}, max_attempts: 2, job_key: SIZES_TASK },
  },
];

/** The task `segment-sizes`: writes the sizes of this hour in small statements, and removes what is too old. */
export async function runSizesJob(
  { postgres: { service }, clock }: Pick<Platform, 'postgres' | 'clock'>,
  stop: AbortSignal,
): Promise<void> {
  const now_ms = clock.now_ms();
  const counted_at = new Date(now_ms - (now_ms % HOUR_MS));
  const is_midnight = counted_at.getTime() % DAY_MS === 0;
  let after: SegmentRef | undefined;
  do {
    after = await writeSizes(service, counted_at, { is_midnight, after }, MAX_WRITTEN);
  } while (after !== undefined && !stop.aborted);
  const until = new Date(now_ms - HOURS_KEPT_MS);
  const old = {
    hours: { from: new Date(until.getTime() - LOOKED_BACK_MS), until },
    all: new Date(now_ms - KEPT_DAYS * DAY_MS),
  };
  let removed: number;
  do {
    removed = await removeSizes(service, old, MAX_REMOVED);
  } while (removed === MAX_REMOVED && !stop.aborted);
}

/** A point of the history of a segment's size. */
export interface SizePoint {
  at: string;
  size: number;
}

/**
 * The size of a segment in the last days, the oldest point first, and the present one as the last. Between two points the
 * size stayed as it was; the first point may be older than asked, and stands at the beginning of the time then.
 */
export async function readSizes(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  ref: SegmentRef,
  present: bigint,
  days: number,
): Promise<SizePoint[]> {
  const now_ms = clock.now_ms();
  const since = new Date(now_ms - days * DAY_MS);
  const rows = await postgres.readAsTenant(ref.tenant_id, (tx) => selectSizes(tx, ref, since, MAX_POINTS));
  const points = rows.map(({ counted_at, size }) => ({
    at: new Date(Math.max(counted_at.getTime(), since.getTime())).toISOString(),
    size: Number(size),
  }));
  return [...points, { at: new Date(now_ms).toISOString(), size: Number(present) }];
}
