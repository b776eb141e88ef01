import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import { microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { GrantRef, GrantRow, HistoryRow } from './grant-row.ts';
import type { GrantFilters } from './schema.ts';

/** Every column of {@link GrantRow}, of the table `g`. */
export function grantColumns(tx: Tx): PendingQuery<Row[]> {
  return tx`g.tenant_id, g.project_id, g.grant_id, g.template_id, g.template_version, g.player_id, g.campaign_id,
    g.granted_by_kind, g.granted_by_id, g.granted_by_user, g.terms, g.exclusion_group, g.slot, g.status, g.outcome,
    g.may_be_sent, g.needs_review, g.adapter_slug, g.player_external_id, g.order_body, g.currency, g.deposit_amount, g.deposit_transaction_id, g.deposit_reversed_at,
    g.bonus_amount, g.bonus_amount_base, g.fx, g.base_fx, g.wagering_required, g.wagering_progress, g.progress_source,
    g.max_bet, g.max_win_cap, g.max_bet_breaches, g.released_amount, g.released_amount_base, g.facts, g.status_reason,
    g.last_error, g.attempts, g.calls, g.first_called_at, g.next_attempt_at, g.retry_early_at,
    g.cancel_requested_at, g.cancel_reason, g.is_protection_seen, g.created_at, g.activated_at, g.expires_at, g.completed_at, g.ended_at, g.updated_at, g.seq`;
}

/** The condition that names one grant of the table `g`. */
export function isGrant(tx: Tx, { tenant_id, project_id, grant_id }: GrantRef): PendingQuery<Row[]> {
  return tx`g.grant_id = ${grant_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}`;
}

/** The grant; no row when the project has none of this id. */
export function selectGrant(tx: Tx, ref: GrantRef): PendingQuery<GrantRow[]> {
  return tx<GrantRow[]>`select ${grantColumns(tx)} from bonus_grants g where ${isGrant(tx, ref)}`;
}

/** The grant, locked until the transaction ends. */
export async function lockGrant(tx: Tx, ref: GrantRef): Promise<GrantRow | undefined> {
  const [row] = await tx<GrantRow[]>`
    select ${grantColumns(tx)} from bonus_grants g where ${isGrant(tx, ref)} for no key update`;
  return row;
}

/** Those of the grants that no other transaction holds, locked until the transaction ends, in the order of their ids. */
export async function lockFree(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  grant_ids: readonly string[],
): Promise<GrantRow[]> {
  const sorted = [...new Set(grant_ids)].sort();
  return tx<GrantRow[]>`
    select ${grantColumns(tx)} from unnest(${plainArray(sorted)}::text::uuid[]) as r (grant_id)
    cross join lateral (
      select * from bonus_grants o
      where o.grant_id = r.grant_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
      offset 0 for no key update skip locked) g`;
}

/** The history of a grant, the oldest event first. */
export function selectHistory(
  tx: Tx,
  { tenant_id, project_id, grant_id }: GrantRef,
  limit: number,
): PendingQuery<HistoryRow[]> {
  return tx<HistoryRow[]>`
    select seq, event, source, event_id, from_status, to_status, occurred_at, received_at, data
    from (
      select * from bonus_grant_events
      where grant_id = ${grant_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
      order by seq desc limit ${limit}) e
    order by seq`;
}

/**
 * A page of grants, the newest first. The condition on `-infinity` belongs to the two lists of a whole project; a list by
 * player, template or campaign has an index of its own.
 */
export function listGrants(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  filters: GrantFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<GrantRow>[]> {
  const { player_id, template_id, campaign_id, status, granted_by_kind, needs_review } = filters;
  const nothing = tx``;
  const is_narrow = player_id !== undefined || template_id !== undefined || campaign_id !== undefined;
  return tx<Listed<GrantRow>[]>`
    select ${grantColumns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from bonus_grants g
    where g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
      ${is_narrow || needs_review === 'true' ? nothing : tx`and g.created_at > '-infinity'`}
      ${after === undefined ? nothing : isAfter(tx, after)}
      ${player_id === undefined ? nothing : tx`and g.player_id = ${player_id}`}
      ${template_id === undefined ? nothing : tx`and g.template_id = ${template_id}`}
      ${campaign_id === undefined ? nothing : tx`and g.campaign_id = ${campaign_id}`}
      ${status === undefined ? nothing : tx`and g.status = ${status}`}
      ${granted_by_kind === undefined ? nothing : tx`and g.granted_by_kind = ${granted_by_kind}`}
      ${needs_review === undefined ? nothing : needs_review === 'true' ? tx`and g.needs_review` : tx`and not g.needs_review`}
    order by g.created_at desc, g.grant_id desc
    limit ${limit}`;
}

function isAfter(tx: Tx, [time_us, id]: TimePosition): PendingQuery<Row[]> {
  return tx`and (g.created_at, g.grant_id) <
    ('epoch'::timestamptz + ${time_us}::bigint * interval '1 microsecond', ${id}::uuid)`;
}
