import type { PendingQuery } from 'postgres';
import { beyond, microseconds, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { NEWEST_ANONYMOUS_IDS } from '../../players/profile/queries.ts';

/** A player whose ids name two people. */
export interface ConflictRow {
  player_id: string;
  external_id: string | null;
  anonymous_ids: string[];
  created_at: Date;
  updated_at: Date;
  created_us: bigint;
}

/** A page of players with the status `conflict`, the newest first. */
export function listConflicts(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<ConflictRow[]> {
  // The index of rare statuses has the condition `<> 'active'`; the planner uses it only when the query repeats it.
  return tx<ConflictRow[]>`
    select p.player_id, p.external_id, ${tx.unsafe(NEWEST_ANONYMOUS_IDS)} as anonymous_ids, p.created_at, p.updated_at,
      ${microseconds(tx, 'p.created_at')} as created_us
    from players p
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.status = 'conflict'
      and p.status <> 'active' and p.deleted_at is null
      ${beyond(tx, 'p.created_at', 'p.player_id', after)}
    order by p.created_at desc, p.player_id desc
    limit ${limit}`;
}

/** A player whose verification waits for a decision. */
export interface KycRow {
  player_id: string;
  external_id: string | null;
  status: string;
  kyc_level: number;
  requested_level: number | null;
  /** When the documents came; null: not known any more. */
  since: Date | null;
  created_us: bigint;
}

/** A page of players whose KYC is pending, the newest players first. */
export function listPendingKyc(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<KycRow[]> {
  return tx<KycRow[]>`
    select w.player_id, w.external_id, w.status, w.kyc_level, w.requested_level, d.occurred_at as since,
      ${microseconds(tx, 'w.created_at')} as created_us
    from (
      select p.*, p.kyc_requested_level as requested_level from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.kyc_status = 'pending'
        and p.deleted_at is null
        ${beyond(tx, 'p.created_at', 'p.player_id', after)}
      order by p.created_at desc, p.player_id desc
      limit ${limit}) w
    left join lateral (
      select d.occurred_at from kyc_decisions d
      where d.player_id = w.player_id and d.tenant_id = w.tenant_id and d.project_id = w.project_id
        and d.kind = 'submitted'
      order by d.occurred_at desc limit 1) d on true
    order by w.created_at desc, w.player_id desc`;
}

interface LockedStatus {
  status: string;
  self_excluded: boolean;
  deleted_at: Date | null;
}

/** The status of a player, whose row is locked until the transaction ends; no row: the project has no such player. */
export function lockStatus(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
): PendingQuery<LockedStatus[]> {
  return tx<LockedStatus[]>`
    select status, self_excluded, deleted_at from players
    where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
    for no key update`;
}
