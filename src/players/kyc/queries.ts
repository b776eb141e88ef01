import type { PendingQuery } from 'postgres';
import { textArray, plainArray } from '../../platform/postgres/arrays.ts';
import type { Backlog } from '../../platform/backlog-gauge.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { PlayerRef } from '../player-ref.ts';
import { KYC_KINDS, type KycKind, type KycStatus } from '../../protection/kyc/decide.ts';
import type { KycSource } from '../../protection/kyc/decision-queries.ts';
import type { Eraser } from '../dependents.ts';

/** The KYC columns of a player. */
export interface KycRow {
  player_id: string;
  kyc_status: KycStatus;
  kyc_level: number;
  requested_level: number | null;
  expires_at: Date | null;
  decided_at: Date | null;
  decided_by: string | null;
  provider_ref: string | null;
}

/** A player's KYC; no row when the project has no such player. */
export function selectKyc(tx: Tx, { tenant_id, project_id, player_id }: PlayerRef): PendingQuery<KycRow[]> {
  return tx<KycRow[]>`
    select player_id, kyc_status, kyc_level, kyc_requested_level as requested_level, kyc_expires_at as expires_at,
      kyc_status_at as decided_at, kyc_decided_by as decided_by, kyc_provider_ref as provider_ref
    from players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`;
}

/** A statement of the history. */
export interface HistoryRow {
  id: string;
  decision: KycKind;
  source: KycSource;
  applied: boolean;
  kyc_status: KycStatus;
  level: number | null;
  expires_at: Date | null;
  occurred_at: Date;
  received_at: Date;
  decided_by: string | null;
  adapter_slug: string | null;
  reason: string | null;
  requirements: string[] | null;
}

/** The last statements about a player, the newest by their own time first; of one time, the one that holds. */
export function selectHistory(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  limit: number,
): PendingQuery<HistoryRow[]> {
  return tx<HistoryRow[]>`
    select decision_id as id, kind as decision, source, applied, kyc_status, level, expires_at, occurred_at, received_at,
      decided_by, adapter_slug, reason, requirements
    from kyc_decisions
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}
    order by occurred_at desc, array_position(${textArray(KYC_KINDS)}::text::text[], kind) desc, decision_id desc
    limit ${limit}`;
}

/**
 * The live player that a platform names: by external_id, or by player_id, which is what calls of platforms say of a player
 * that has no external_id then. It is the same player when it has got one since, or was merged into another.
 */
export function selectNamed(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  name: string,
  player_id: string | null,
): PendingQuery<{ player_id: string }[]> {
  return tx<{ player_id: string }[]>`
    (select player_id, 1 as place from players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and external_id = ${name} and deleted_at is null)
    union all
    (select player_id, 2 from players
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}::uuid
      and deleted_at is null)
    union all
    (select p.player_id, 3 from player_merges m
    cross join lateral (
      select p.player_id from players p
      where p.tenant_id = m.tenant_id and p.project_id = m.project_id and p.player_id = m.into_player_id
        and p.deleted_at is null offset 0) p
    where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = ${player_id}::uuid)
    order by place
    limit 1`;
}

/** Players whose approval has ended, behind `after`, those that ended first. */
export function selectLapsed(
  sql: Tx,
  now: Date,
  after: { kyc_expires_at: Date; player_id: string } | undefined,
  limit: number,
): PendingQuery<(PlayerRef & { kyc_expires_at: Date })[]> {
  const { kyc_expires_at, player_id } = after ?? {};
  const behind =
    kyc_expires_at === undefined || player_id === undefined
      ? sql``
      : sql`and kyc_expires_at >= ${kyc_expires_at} and (kyc_expires_at, player_id) > (${kyc_expires_at}, ${player_id}::uuid)`;
  return sql<(PlayerRef & { kyc_expires_at: Date })[]>`
    select tenant_id, project_id, player_id, kyc_expires_at from players
    where kyc_expires_at <= ${now} and kyc_expires_at is not null and kyc_status = 'approved' and deleted_at is null
      ${behind}
    order by kyc_expires_at, player_id
    limit ${limit}`;
}

/** A statement whose event waits to be appended to the log. */
export interface ToPublish extends PlayerRef {
  decision_id: string;
  event: string;
  source: KycSource;
  level: number | null;
  expires_at: Date | null;
  kyc_status: KycStatus;
  occurred_at: Date;
  received_at: Date;
}

/** The oldest events that wait. */
export function selectToPublish(sql: Tx, limit: number): PendingQuery<ToPublish[]> {
  return sql<ToPublish[]>`
    select tenant_id, project_id, player_id, decision_id, event, source, level, expires_at, kyc_status, occurred_at,
      received_at
    from kyc_decisions where is_unpublished
    order by received_at, decision_id
    limit ${limit}`;
}

/** Marks events as appended. */
export async function markPublished(
  sql: Tx,
  rows: readonly Pick<ToPublish, 'tenant_id' | 'project_id' | 'decision_id'>[],
): Promise<void> {
  const keys = rows.map(({ tenant_id, project_id, decision_id }) => ({ tenant_id, project_id, decision_id }));
  await sql`
    update kyc_decisions d set is_unpublished = false
    from (
      select d.ctid, r.* from jsonb_to_recordset(${JSON.stringify(keys)}::text::jsonb)
        as r (tenant_id uuid, project_id uuid, decision_id uuid)
      cross join lateral (
        select d.ctid from kyc_decisions d where d.tenant_id = r.tenant_id and d.project_id = r.project_id
          and d.decision_id = r.decision_id offset 0) d) r
    where d.ctid = r.ctid and d.tenant_id = r.tenant_id and d.project_id = r.project_id
      and d.decision_id = r.decision_id`;
}

/** Events that wait to be appended, for the metrics. */
export async function readToPublish(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(received_at))::float8 as oldest_ms from (
      select received_at from kyc_decisions where is_unpublished order by received_at limit ${most}) d`;
  return row ?? { items: 0, oldest_ms: null };
}

/** What was said about decisions, and what calls to platforms were to say. Which decisions there were stays. */
export const kycEraser: Eraser = {
  step: 'kyc',
  async erase(tx, { tenant_id, project_id, player_ids }, limit) {
    const ids = plainArray(player_ids);
    const { count: calls } = await tx`
      delete from kyc_calls
      where player_id = any(${ids}::text::uuid[]) and tenant_id = ${tenant_id} and project_id = ${project_id}`;
    const { count: decisions } = await tx`
      update kyc_decisions d set reason = null, requirements = null
      from (
        select decision_id from kyc_decisions
        where player_id = any(${ids}::text::uuid[]) and tenant_id = ${tenant_id} and project_id = ${project_id}
          and (reason is not null or requirements is not null)
        limit ${limit}) f
      where d.decision_id = f.decision_id and d.tenant_id = ${tenant_id} and d.project_id = ${project_id}`;
    return calls + decisions;
  },
};
