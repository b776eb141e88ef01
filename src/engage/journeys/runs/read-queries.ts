import type { PendingQuery } from 'postgres';
import { beyond, microseconds, type TimePosition } from '../../../platform/postgres/keyset.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { PlayerRef } from '../../../players/player-ref.ts';
import type { JourneyKey } from './journey-queries.ts';
import type { RunOutcome, RunStatus, RunTrigger } from './run-row.ts';
import type { RunContext } from './shapes.ts';

/** A run as it is shown. */
export interface RunRow {
  run_id: string;
  journey_id: string;
  version: number;
  player_id: string;
  status: RunStatus;
  node_id: string;
  seq: number;
  entered_at: Date | null;
  due_at: Date | null;
  trigger: RunTrigger;
  context: RunContext;
  outcome: RunOutcome | null;
  error_code: string | null;
  cancelled_by: string | null;
  started_at: Date;
  completed_at: Date | null;
  /** Only ClickHouse has its steps. */
  is_archived: boolean;
}

/** A run in a list; `started_us` is in microseconds since the epoch. */
export type ListedRun = RunRow & { started_us: bigint };

/** Which runs are listed. */
export interface RunFilters {
  status?: RunStatus | undefined;
  player_id?: string | undefined;
  node_id?: string | undefined;
}

function columns(tx: Tx) {
  return tx`r.run_id, r.journey_id, r.version, r.player_id, r.status, r.node_id, r.seq, r.entered_at, r.due_at, r.trigger,
    r.context, r.outcome, r.error_code, r.cancelled_by, r.started_at, r.completed_at,
    r.is_archived`;
}

/** The run of a journey. */
export function selectRun(
  tx: Tx,
  { tenant_id, project_id, journey_id, run_id }: JourneyKey & { run_id: string },
): PendingQuery<RunRow[]> {
  return tx<RunRow[]>`
    select ${columns(tx)} from journey_runs r
    where r.run_id = ${run_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      and r.journey_id = ${journey_id}`;
}

/** A page of the runs of a journey, the newest first. */
export function listRuns(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyKey,
  { status, player_id, node_id }: RunFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<ListedRun[]> {
  const nothing = tx``;
  return tx<ListedRun[]>`
    select ${columns(tx)}, ${microseconds(tx, 'started_at')} as started_us from journey_runs r
    where r.tenant_id = ${tenant_id} and r.project_id = ${project_id} and r.journey_id = ${journey_id}
      ${status === undefined ? nothing : tx`and r.status = ${status}`}
      ${player_id === undefined ? nothing : tx`and r.player_id = ${player_id}`}
      ${node_id === undefined ? nothing : tx`and r.node_id = ${node_id}`}
      ${beyond(tx, 'started_at', 'run_id', after)}
    order by r.started_at desc, r.run_id desc limit ${limit}`;
}

/** A page of the runs of a player, the newest first, with the names of their journeys. */
export function listRunsOfPlayer(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<(ListedRun & { journey_name: string })[]> {
  return tx<(ListedRun & { journey_name: string })[]>`
    select ${columns(tx)}, ${microseconds(tx, 'started_at')} as started_us, j.name as journey_name
    from journey_runs r
    cross join lateral (
      select name from journeys j
      where j.tenant_id = r.tenant_id and j.project_id = r.project_id and j.journey_id = r.journey_id offset 0) j
    where r.tenant_id = ${tenant_id} and r.project_id = ${project_id} and r.player_id = ${player_id}
      ${beyond(tx, 'started_at', 'run_id', after)}
    order by r.started_at desc, r.run_id desc limit ${limit}`;
}

/** A step that is done. */
export interface StoredStep {
  seq: number;
  node_id: string;
  node_type: string;
  status: 'completed' | 'skipped' | 'failed';
  outcome: string;
  next_node_id: string | null;
  entered_at: Date;
  completed_at: Date;
  ref: string | null;
  error_code: string | null;
}

/** The steps of a run in their order. */
export function selectSteps(
  tx: Tx,
  { tenant_id, project_id, run_id }: { tenant_id: string; project_id: string; run_id: string },
): PendingQuery<StoredStep[]> {
  return tx<StoredStep[]>`
    select seq, node_id, node_type, status, outcome, next_node_id, entered_at, completed_at, ref, error_code
    from journey_steps
    where run_id = ${run_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
    order by seq`;
}

/** The type of a node of a version; undefined: the version has no such node. */
export async function selectNodeType(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyKey,
  version: number,
  node_id: string,
): Promise<string | undefined> {
  const [row] = await tx<{ type: string }[]>`
    select n ->> 'type' as type
    from journey_versions v, jsonb_array_elements(v.graph -> 'nodes') n
    where v.tenant_id = ${tenant_id} and v.project_id = ${project_id} and v.journey_id = ${journey_id}
      and v.version = ${version} and n ->> 'id' = ${node_id}`;
  return row?.type;
}

/**
 * The id of the player or, after a merge, of the survivor, locked against merging and deletion until the transaction
 * ends; undefined: there is none, or it is deleted.
 */
export async function lockLivePlayer(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): Promise<string | undefined> {
  const [row] = await tx<{ player_id: string }[]>`
    select p.player_id from players p
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.deleted_at is null
      and p.player_id = coalesce(
        (select m.into_player_id from player_merges m
          where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = ${player_id}),
        ${player_id}::uuid)
    for share`;
  return row?.player_id;
}
