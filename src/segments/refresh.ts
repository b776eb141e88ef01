import { pipeline } from 'node:stream/promises';
import { ApiError } from '../errors.ts';
import { auditNothing, type AuditChange } from '../http/audit.ts';
import { notFound, requireRow } from '../http/record.ts';
import type { Platform } from '../wiring/platform.ts';
import { readDefinition } from './language/definition.ts';
import { dependenciesOf } from './dependencies.ts';
import { differences, dropMembers, type MembershipDifference } from './evaluation-queries.ts';
import {
  changeStagedMembership,
  lockMembership,
  openStage,
  purgeMembers,
  stageWriter,
  type MembershipCounts,
} from './membership-queries.ts';
import {
  selectLiveSegment,
  markComputed,
  markFailed,
  noteProgress,
  selectSegment,
  type SegmentRef,
} from './queries.ts';
import { requireSegment, SEGMENT } from './read.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { copyPendingChanges } from './publish-changes.ts';
import { markDependentsDirty } from './dirty-players.ts';

export type RefreshDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger' | 'jobs' | 'metrics'>;

/** Lines per write to the stage. */
const COPY_LINES = 20_000;
/** Members removed per transaction of a purge. */
const MAX_PURGED = 10_000;

/** What a refresh did (spec part 4); `matched` is the number of members after it. */
export interface RefreshResult extends MembershipCounts {
  matched: number;
  duration_ms: number;
}

/**
 * Materialises the members of a segment, after those of the segments that its definition refers to. ClickHouse compares
 * the definition with the stored members, and one transaction writes only the difference: after a crash the members are
 * those of before. A lock lets one refresh of a segment run at a time. Rejects with SEGMENT_NOT_FOUND or
 * SEGMENT_TOO_EXPENSIVE; the segment's `last_error` keeps the reason of any failure. `audit` gets the counts of every
 * segment that is refreshed, in the transaction that changes its members.
 */
export async function refreshSegment(
  deps: RefreshDeps,
  ref: SegmentRef,
  audit: AuditChange = auditNothing,
): Promise<RefreshResult> {
  const started_ms = performance.now();
  const { segmentRefreshes } = deps.metrics;
  for (const segment_id of await inOrder(deps, ref)) {
    const one = { ...ref, segment_id };
    const done = segmentRefreshes.startTimer();
    const result = await refreshAlone(deps, one, audit).catch((error: unknown) => {
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
    for (const needed of dependenciesOf(readDefinition(definition)).segment_ids) await visit(needed);
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
): Promise<MembershipCounts & { matched: number }> {
  const { postgres, clock } = deps;
  try {
    return await postgres.patient.begin(async (tx) => {
      await lockMembership(tx, ref);
      const segment = requireRow(SEGMENT, ref, await selectLiveSegment(tx, ref));
      // ClickHouse must have all changes that are not published yet: the query compares with the members stored there,
      // and reads the members of the segments that the definition refers to there.
      await copyPendingChanges(deps, { tenant_id: ref.tenant_id, project_id: ref.project_id });
      const now_ms = clock.now_ms();
      const started_at = new Date(now_ms).toISOString();
      const note = (phase: 'comparing' | 'writing', done: number, total: number | null) =>
        noteProgress(postgres.service, ref, { phase, started_at, done, total });
      await note('comparing', 0, null);
      const found = await differences(
        deps.clickhouse,
        { ...ref, now_ms },
        readDefinition(segment.definition),
      );
      const change = await writeDifference(tx, ref, found, new Date(now_ms), (done) =>
        note('writing', done, found.length),
      );
      await markComputed(tx, ref, new Date(now_ms));
      await markDependentsDirty(
        tx,
        ref,
        found.map(({ player_id }) => ({ segment_id: ref.segment_id, player_id })),
        new Date(now_ms),
      );
      const [after] = await selectSegment(tx, ref);
      const counts = { matched: Number(after?.estimated_size ?? 0n), ...change };
      const { tenant_id, project_id, segment_id: resource_id } = ref;
      await audit(tx, { tenant_id, project_id, resource_id, before: null, after: counts });
      return counts;
    });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'SEGMENT_NOT_FOUND'))
      await noteFailure(deps, ref, error);
    throw error;
  }
}

/** Copies the difference to a temporary table, then applies it with one statement; reports each write of 20,000. */
async function writeDifference(
  tx: Tx,
  ref: SegmentRef,
  found: readonly MembershipDifference[],
  now: Date,
  onProgress: (done: number) => Promise<void>,
): Promise<MembershipCounts> {
  if (found.length === 0) return { added: 0, removed: 0 };
  await openStage(tx);
  async function* lines() {
    for (let from = 0; from < found.length; from += COPY_LINES) {
      await onProgress(from);
      yield found
        .slice(from, from + COPY_LINES)
        .map((one) => `${one.player_id}\t${one.enters}\n`)
        .join('');
    }
  }
  await pipeline(lines, await stageWriter(tx));
  return changeStagedMembership(tx, ref, now);
}

async function noteFailure(
  { postgres, logger }: RefreshDeps,
  ref: SegmentRef,
  error: unknown,
): Promise<void> {
  const message = error instanceof Error ? error.message.slice(0, 1_000) : 'unknown';
  logger.warn({ err: error, segment_id: ref.segment_id }, 'refreshing a segment failed');
  await markFailed(postgres.service, ref, message).catch((cause: unknown) =>
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
  for (let purged = MAX_PURGED; purged === MAX_PURGED;) {
    purged = await postgres.patient.begin(async (tx) => {
      await lockMembership(tx, ref);
      return purgeMembers(tx, ref, MAX_PURGED);
    });
  }
  // Changes of this segment may still be in the outbox: the publisher copies them and then removes the members again.
  await dropMembers(clickhouse, ref);
}
