import { mayWriteRevisions } from '../analytics/epoch.ts';
import { ApiError } from '../errors.ts';
import { playerKey } from '../ingest/events/envelope.ts';
import type { NewRecord } from '../platform/event-log/port.ts';
import { TOPICS } from '../platform/event-log/topics.ts';
import { publishOutbox, type Outbox } from '../platform/outbox.ts';
import type { Platform } from '../platform/platform.ts';
import { copyChanges, dropMembers } from './evaluation-queries.ts';
import {
  deleteChanges,
  readChanges,
  readChangesOf,
  selectDeleted,
  type PendingMembershipChange,
} from './membership-queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

export type PublishDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'eventLog' | 'metrics'>;

const RETRY_AFTER_S = 5;
/** Outbox rows per batch; each holds up to 1,000 players. */
const MAX_CHANGES = 50;

/** A new epoch has to begin before members can be compared. It says nothing about any segment. */
export class EpochNotReady extends ApiError {
  constructor() {
    const message = 'player-mirror has to begin a new epoch of the database first: try again';
    super('SERVICE_UNAVAILABLE', message, { retry_after_s: RETRY_AFTER_S });
  }
}

/**
 * Copies a project's unpublished changes to ClickHouse, so that segment conditions see them. The outbox keeps its rows.
 * Rejects with {@link EpochNotReady} while a new epoch has to begin: ClickHouse might not take them, and the caller would
 * compare with earlier members.
 */
export async function copyPendingChanges(
  { postgres, clickhouse }: Pick<PublishDeps, 'postgres' | 'clickhouse'>,
  of: ProjectRef,
): Promise<void> {
  if (!(await mayWriteRevisions({ postgres }))) {
    throw new EpochNotReady();
  }
  for (let after = 0n; ;) {
    const changes = await readChangesOf(postgres.service, of, after, MAX_CHANGES);
    await copy({ postgres, clickhouse }, changes);
    if (changes.length < MAX_CHANGES) return;
    after = changes.at(-1)?.change_id ?? after;
  }
}

/**
 * Copies changes to ClickHouse, then removes the members of those segments that are deleted: the purge job may have run
 * before these changes were copied. After a crash in between the rows are still in the outbox and are copied again; no
 * query reads the members of a deleted segment.
 */
async function copy(
  { postgres, clickhouse }: Pick<PublishDeps, 'postgres' | 'clickhouse'>,
  changes: readonly PendingMembershipChange[],
): Promise<void> {
  await copyChanges(clickhouse, changes);
  for (const ref of await selectDeleted(postgres.service, changes)) await dropMembers(clickhouse, ref);
}

/** A player entered or left a segment: a record of the topic `segment-changes`. */
export interface SegmentChange {
  tenant_id: string;
  project_id: string;
  segment_id: string;
  player_id: string;
  change: 'entered' | 'left';
  /** Identifies the change together with segment and player; a duplicate carries the same. */
  change_id: string;
  changed_at_ms: number;
}

/**
 * Publishes the oldest rows of the outbox to ClickHouse and the log, then removes them. When they are published again
 * after a crash in between, equal rows replace the first ones in ClickHouse; on the log, consumers recognise duplicates by
 * `change_id`. Returns whether the outbox may have more rows; false without publishing while a new epoch has to begin, and
 * while another process publishes.
 */
export function publishMembershipChanges(deps: PublishDeps): Promise<boolean> {
  return publishOutbox(deps, outboxOf(deps));
}

function outboxOf({ postgres, clickhouse, metrics }: PublishDeps): Outbox<PendingMembershipChange> {
  return {
    name: 'segment-changes',
    topic: TOPICS.segmentChanges,
    max_rows: MAX_CHANGES,
    read: async (sql, limit) => ((await mayWriteRevisions({ postgres })) ? readChanges(sql, limit) : []),
    async recordsOf(changes) {
      await copy({ postgres, clickhouse }, changes);
      return changes.flatMap(recordsOf);
    },
    async remove(tx, changes) {
      await deleteChanges(tx, changes);
      for (const { has_entered, player_ids } of changes)
        metrics.segmentChanges.inc({ change: has_entered ? 'entered' : 'left' }, player_ids.length);
    },
  };
}

function recordsOf(row: PendingMembershipChange): NewRecord[] {
  const { tenant_id, project_id, segment_id, has_entered, player_ids, revision, changed_ms } = row;
  return player_ids.map((player_id) => {
    const change: SegmentChange = {
      tenant_id,
      project_id,
      segment_id,
      player_id,
      change: has_entered ? 'entered' : 'left',
      change_id: revision,
      changed_at_ms: Number(changed_ms),
    };
    return { key: playerKey(project_id, player_id), value: JSON.stringify(change) };
  });
}
