import type { Tx } from '../platform/postgres/port.ts';
import type { MirrorPosition } from './mirror-queries.ts';
import { revisionSql } from './epoch-queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

/** A run or a step as a JSONEachRow line of a table of ClickHouse; `changed_xid` and `run_id` are its position. */
export interface ChangedJourneyRow extends ProjectRef {
  changed_xid: string;
  run_id: string;
  table: 'journey_runs' | 'journey_steps';
  line: string;
}

/** 1: the project holds its player out; 2: the project draws nobody of the journey, so the run is in no arm of it. */
export const HELD_OUT_GLOBALLY = `case when is_of_service then 2 else is_held_out_globally::integer end`;

const RUN_REVISION = revisionSql('r.changed_xid::text::numeric');
const STEP_REVISION = revisionSql('s.changed_xid::text::numeric');

/**
 * Runs and steps changed after `position`, in order, at most `limit`; a transaction's rows of one run are read together
 * or not at all, so that a position is behind all of them. Only changes of transactions older than every running one are
 * read, so that no change can become visible below a position that was passed. A step has the version and the player
 * that its run has now. `is_full`: there may be more.
 */
export async function readChangedJourneyRows(
  sql: Tx,
  position: MirrorPosition,
  limit: number,
): Promise<{ rows: ChangedJourneyRow[]; is_full: boolean }> {
  const beyond = (row: 'r' | 's') =>
    sql`(${sql(row)}.changed_xid, ${sql(row)}.run_id) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid)
      and ${sql(row)}.changed_xid < pg_snapshot_xmin(pg_current_snapshot())`;
  const rows = await sql<ChangedJourneyRow[]>`
    select u.changed_xid::text, u.tenant_id, u.project_id, u.run_id, u.table, u.line from (
    (select r.changed_xid, r.tenant_id, r.project_id, r.run_id, 'journey_runs' as table, 0 as seq, json_build_object(
      'tenant_id', r.tenant_id, 'project_id', r.project_id, 'journey_id', r.journey_id, 'run_id', r.run_id,
      'version', r.version, 'player_id', r.player_id, 'is_held_out', (r.outcome is not distinct from 'held_out')::integer,
      'is_held_out_globally', ${sql.unsafe(HELD_OUT_GLOBALLY)},
      'started_at', epoch_ms(r.started_at), 'is_archived', r.is_archived::integer,
      'revision', ${sql.unsafe(RUN_REVISION)})::text as line
    from journey_runs r
    where ${beyond('r')}
    order by r.changed_xid, r.run_id
    limit ${limit})
    union all
    (select s.changed_xid, s.tenant_id, s.project_id, s.run_id, 'journey_steps', s.seq, json_build_object(
      'tenant_id', s.tenant_id, 'project_id', s.project_id, 'journey_id', r.journey_id, 'run_id', s.run_id,
      'seq', s.seq, 'version', r.version, 'player_id', r.player_id, 'node_id', s.node_id, 'node_type', s.node_type,
      'status', s.status, 'outcome', s.outcome, 'next_node_id', s.next_node_id, 'ref', s.ref,
      'error_code', s.error_code, 'entered_at', epoch_ms(s.entered_at), 'completed_at', epoch_ms(s.completed_at),
      'revision', ${sql.unsafe(STEP_REVISION)})::text
    from journey_steps s
    cross join lateral (
      select o.journey_id, o.version, o.player_id from journey_runs o
      where o.run_id = s.run_id and o.tenant_id = s.tenant_id and o.project_id = s.project_id offset 0) r
    where ${beyond('s')}
    order by s.changed_xid, s.run_id, s.seq
    limit ${limit})
    ) u
    order by u.changed_xid, u.run_id, u.table, u.seq
    limit ${limit}`;
  const is_full = rows.length === limit;
  const last = rows.at(-1);
  if (!is_full || last === undefined) return { rows, is_full };
  // A transaction writes at most one row of a run and one per node, far fewer than a page has.
  const isOfLast = (row: ChangedJourneyRow) =>
    row.changed_xid === last.changed_xid && row.run_id === last.run_id;
  return { rows: rows.filter((row) => !isOfLast(row)), is_full };
}
