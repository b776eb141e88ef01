import { textArray } from '../platform/postgres/arrays.ts';
import type { Session } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { waitForLocks } from '../platform/postgres/session.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { SegmentRef } from './queries.ts';

// The locks of a session end with it. What they protect is written in the session's own transactions. Merging or
// deleting a player takes none of them.

const membershipKey = ({ tenant_id, project_id, segment_id }: SegmentRef) =>
  `segment ${tenant_id} ${project_id} ${segment_id}`;
const evaluationKey = ({ tenant_id, project_id }: ProjectRef) =>
  `segment evaluation ${tenant_id} ${project_id}`;

/**
 * How long a request waits for each lock. It holds one of a few sessions meanwhile, which the requests
 * of other tenants need, too.
 */
export const REQUEST_WAIT_MS = 20_000;

/**
 * Waits for the segment's lock: no other refresh, evaluation or purge changes its members meanwhile. Rejects with 55P03
 * after `max_wait_ms`; absent: ten minutes.
 */
export async function lockMembership({ sql }: Session, ref: SegmentRef, max_wait_ms?: number): Promise<void> {
  await waitForLocks(
    (lock_timeout) => sql`
      with patience as materialized (select set_config('lock_timeout', ${lock_timeout}, true))
      select pg_advisory_lock(hashtextextended(${membershipKey(ref)}, 0)) from patience`,
    max_wait_ms,
  );
}

/** Takes the segment's lock as {@link lockMembership} does; false when another session holds it, alone or shared. */
export async function tryLockMembership({ sql }: Session, ref: SegmentRef): Promise<boolean> {
  const [row] = await sql<{ locked: boolean }[]>`
    select pg_try_advisory_lock(hashtextextended(${membershipKey(ref)}, 0)) as locked`;
  return row?.locked ?? false;
}

/**
 * Waits for the locks of segments in shared mode: no refresh or purge of them begins meanwhile. Rejects with 55P03 after
 * `max_wait_ms`.
 */
export async function shareMemberships(
  { sql }: Session,
  refs: readonly SegmentRef[],
  max_wait_ms: number,
): Promise<void> {
  if (refs.length === 0) return;
  await waitForLocks(
    (lock_timeout) => sql`
      with patience as materialized (select set_config('lock_timeout', ${lock_timeout}, true))
      select pg_advisory_lock_shared(hashtextextended(key, 0))
      from patience, unnest(${textArray(refs.map(membershipKey))}::text::text[]) as r (key)`,
    max_wait_ms,
  );
}

/** Shares the locks of those segments that are not being refreshed or purged now; returns their ids. */
export async function tryShareMemberships(
  { sql }: Session,
  refs: readonly SegmentRef[],
): Promise<Set<string>> {
  if (refs.length === 0) return new Set();
  const rows = await sql<{ segment_id: string; is_shared: boolean }[]>`
    select segment_id, pg_try_advisory_lock_shared(hashtextextended(key, 0)) as is_shared
    from ${rowsOf(sql, 'r', refs, { segment_id: 'text', key: ['text', membershipKey] })}`;
  return new Set(rows.filter(({ is_shared }) => is_shared).map(({ segment_id }) => segment_id));
}

/**
 * Waits for the project's evaluation lock: one evaluation of single players runs at a time. Rejects with 55P03 after
 * `max_wait_ms`.
 */
export async function lockProjectEvaluation(
  { sql }: Session,
  project: ProjectRef,
  max_wait_ms: number,
): Promise<void> {
  await waitForLocks(
    (lock_timeout) => sql`
      with patience as materialized (select set_config('lock_timeout', ${lock_timeout}, true))
      select pg_advisory_lock(hashtextextended(${evaluationKey(project)}, 0)) from patience`,
    max_wait_ms,
  );
}

/** Takes the project's evaluation lock; false when another session holds it. */
export async function tryLockProjectEvaluation({ sql }: Session, project: ProjectRef): Promise<boolean> {
  const [row] = await sql<{ locked: boolean }[]>`
    select pg_try_advisory_lock(hashtextextended(${evaluationKey(project)}, 0)) as locked`;
  return row?.locked ?? false;
}
