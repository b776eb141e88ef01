import { ApiError } from '../errors.ts';
import { auditNothing, type AuditChange } from '../http/audit.ts';
import { notFound, requireRow } from '../http/record.ts';
import type { Platform } from '../platform/platform.ts';
import { readDefinition } from './language/definition.ts';
import { dependenciesOf } from './dependencies.ts';
import { differences, dropMembers, type MembershipDifference } from './evaluation-queries.ts';
import { lockMembership } from './lock-queries.ts';
import { changeMemberships, purgeMembers, type MembershipCounts } from './membership-queries.ts';
import {
  selectLiveSegment,
  markComputed,
  markFailed,
  noteProgress,
  notePart,
  selectSegment,
  wantLater,
  type SegmentRef,
} from './queries.ts';
import { requireSegment, SEGMENT } from './read.ts';
import { isFrozen } from './frozen.ts';
import type { Session, Tx } from '../platform/postgres/port.ts';
import { isLockTimeout, retryConflicts } from '../platform/postgres/retry.ts';
import { TooBusy } from '../platform/fair-queue.ts';
import { copyPendingChanges, EpochNotReady } from './publish-changes.ts';
import { markDependentsDirty } from './dirty-players.ts';
import { forgetEvaluated } from './evaluated/evaluated-queries.ts';
import { MAX_CHANGED } from './verdict.ts';

export type RefreshDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger' | 'jobs' | 'metrics'>;

/** A refresh that has written nothing for so long after a part of its difference was interrupted: another one is due. */
const INTERRUPTED_AFTER_MS = 60_000;
/** Members removed per transaction of a purge. */
const MAX_PURGED = 10_000;

/** What a refresh did (spec part 4); `matched` is the number of members after it. */
export interface RefreshResult extends MembershipCounts {
  matched: number;
  duration_ms: number;
}

/**
 * Materialises the members of a segment, after those of the segments that its definition refers to. ClickHouse compares
 * the definition with the stored members, and only the difference is written, in transactions of 5,000 players. After a
 * crash some of them may be missing; another refresh is then due, which writes the rest. A lock lets one refresh of a
 * segment run at a time. Rejects with SEGMENT_NOT_FOUND or SEGMENT_TOO_EXPENSIVE; the segment's `last_error` keeps the
 * reason of any failure that is its own. `audit` gets the counts of every segment that is refreshed, in its last transaction. For a
 * `request`, it uses the sessions for requests, and waits for each lock up to `lock_wait_ms`; then it rejects with 55P03.
 * A job (absent) waits for ten minutes.
 */
export async function refreshSegment(
  deps: RefreshDeps,
  ref: SegmentRef,
  audit: AuditChange = auditNothing,
  request?: { lock_wait_ms: number },
): Promise<RefreshResult> {
  const started_ms = performance.now();
  const { segmentRefreshes } = deps.metrics;
  for (const segment_id of await inOrder(deps, ref)) {
    const one = { ...ref, segment_id };
    const done = segmentRefreshes.startTimer();
    const result = await refreshAlone(deps, one, audit, request).catch((error: unknown) => {
      done({ outcome: 'failed' });
      throw error;
    });
    done({ outcome: 'done' });
    if (segment_id === ref.segment_id)
      return { ...result, duration_ms: Math.round(performance.now() - started_ms) };
  }
  throw notFound(SEGMENT, ref.segment_id);
}

/** The segment after all segments that it refers to, directly or not, each once. Saved definitions have no cycles. */
async function inOrder({ postgres }: RefreshDeps, ref: SegmentRef): Promise<string[]> {
  const ordered: string[] = [];
  const visit = async (segment_id: string): Promise<void> => {
    if (ordered.includes(segment_id)) return;
    const { definition } = await requireSegment(postgres, { ...ref, segment_id });
    for (const needed of dependenciesOf(readDefinition(definition)).segment_ids) {
      // A frozen segment asks for its own list.
      if (needed !== segment_id) await visit(needed);
    }
    ordered.push(segment_id);
  };
  await visit(ref.segment_id);
  return ordered;
}

/** Refreshes one segment without those that it refers to. */
async function refreshAlone(
  deps: RefreshDeps,
  ref: SegmentRef,
  audit: AuditChange,
  request: { lock_wait_ms: number } | undefined,
): Promise<MembershipCounts & { matched: number }> {
  const { postgres, clock } = deps;
  const project = { tenant_id: ref.tenant_id, project_id: ref.project_id };
  try {
    const runSession = request === undefined ? postgres.patientSession : postgres.requestSession;
    return await runSession(async (session) => {
      await lockMembership(session, ref, request?.lock_wait_ms);
      const segment = requireRow(SEGMENT, ref, await selectLiveSegment(postgres.service, ref));
      if (isFrozen(segment)) return auditCounts(session, ref, audit, { added: 0, removed: 0 });
      // ClickHouse must have all changes that are not published yet: the query compares with the members stored there,
      // and reads the members of the segments that the definition refers to there.
      await copyPendingChanges(deps, project);
      const now = new Date(clock.now_ms());
      const started_at = now.toISOString();
      const progress = { phase: 'comparing', started_at, done: 0, total: null } as const;
      await noteProgress(postgres.service, ref, progress);
      const question = { ...ref, now_ms: now.getTime() };
      const found = await differences(deps.clickhouse, question, readDefinition(segment.definition));
      const change = await writeDifference(deps, session, ref, found, now);
      return auditCounts(session, ref, audit, change, (tx) => markComputed(tx, ref, now));
    });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'SEGMENT_NOT_FOUND'))
      await noteFailure(deps, ref, error);
    throw error;
  }
}

/** Ends a refresh: the transaction of `finish` also has its counts in the audit log. */
async function auditCounts(
  session: Session,
  { segment_id, ...project }: SegmentRef,
  audit: AuditChange,
  change: MembershipCounts,
  finish?: (tx: Tx) => Promise<void>,
): Promise<MembershipCounts & { matched: number }> {
  return session.begin(async (tx) => {
    await finish?.(tx);
    const [after] = await selectSegment(tx, { ...project, segment_id });
    const counts = { matched: Number(after?.estimated_size ?? 0n), ...change };
    await audit(tx, { ...project, resource_id: segment_id, before: null, after: counts });
    return counts;
  });
}

/**
 * Writes the difference in short transactions: mirrors wait for every open transaction that writes. Each one changes the
 * members, their number, the outbox and the players to evaluate in segments that refer to this one.
 */
async function writeDifference(
  { clock }: RefreshDeps,
  session: Session,
  ref: SegmentRef,
  found: readonly MembershipDifference[],
  now: Date,
): Promise<MembershipCounts> {
  const counts = { added: 0, removed: 0 };
  for (let from = 0; from < found.length; from += MAX_CHANGED) {
    const part = found.slice(from, from + MAX_CHANGED);
    const { segment_id } = ref;
    const those = (enters: number) =>
      part.filter((one) => one.enters === enters).map(({ player_id }) => ({ segment_id, player_id }));
    const progress = {
      phase: 'writing',
      started_at: now.toISOString(),
      done: from,
      total: found.length,
    } as const;
    const { added, removed } = await retryConflicts(() =>
      session.begin(async (tx) => {
        await notePart(tx, ref, progress, new Date(clock.now_ms() + INTERRUPTED_AFTER_MS));
        const changed = await changeMemberships(tx, ref, those(1), those(0), now, true);
        await markDependentsDirty(tx, ref, [...those(1), ...those(0)], now);
        // They were asked about at another time than when they were evaluated.
        await forgetEvaluated(
          tx,
          ref,
          part.map(({ player_id }) => player_id),
        );
        return changed;
      }),
    );
    counts.added += added;
    counts.removed += removed;
  }
  return counts;
}

async function noteFailure(
  { postgres, logger, clock }: RefreshDeps,
  ref: SegmentRef,
  error: unknown,
): Promise<void> {
  const message = error instanceof Error ? error.message.slice(0, 1_000) : 'unknown';
  logger.warn({ err: error, segment_id: ref.segment_id }, 'refreshing a segment failed');
  const now = new Date(clock.now_ms());
  // A wait that took too long, or a database that has just been loaded, says nothing about the segment.
  const is_late = error instanceof TooBusy || error instanceof EpochNotReady || isLockTimeout(error);
  const marking = is_late
    ? wantLater(postgres.service, ref, now)
    : markFailed(postgres.service, ref, message, now);
  await marking.catch((cause: unknown) =>
    logger.warn(
      { err: cause, segment_id: ref.segment_id },
      'the reason of a failed refresh could not be stored',
    ),
  );
}

/**
 * Removes the stored members of a deleted segment, 10,000 per transaction. The lock makes it wait for refreshes and
 * evaluations that have begun. Idempotent.
 */
export async function purgeSegment(
  { postgres, clickhouse }: Pick<RefreshDeps, 'postgres' | 'clickhouse'>,
  ref: SegmentRef,
): Promise<void> {
  await postgres.patientSession(async (session) => {
    await lockMembership(session, ref);
    for (let purged = MAX_PURGED; purged === MAX_PURGED;) {
      purged = await session.begin((tx) => purgeMembers(tx, ref, MAX_PURGED));
    }
  });
  // Changes of this segment may still be in the outbox: the publisher copies them and then removes the members again.
  await dropMembers(clickhouse, ref);
}
