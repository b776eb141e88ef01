import { plainArray, textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import { correctBudget, type NewHistory } from '../grants/apply-queries.ts';
import type { NewGrant } from '../grants/issue-queries.ts';
import { lockBudgets } from '../grants/reserve-queries.ts';
import type { BonusCampaignRef, BonusCampaignRow } from './queries.ts';
import type { Used } from './room.ts';

/** Members of a campaign that wait for a decision, in the order of their ids, after `after`; `only`: this one. */
export async function selectPending(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  { limit, only, after }: { limit: number; only?: string | undefined; after?: string },
): Promise<string[]> {
  const rows = await tx<{ player_id: string }[]>`
    select r.player_id from bonus_campaign_rows r
    where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      and r.status = 'pending' ${only === undefined ? tx`` : tx`and r.player_id = ${only}`}
      ${after === undefined ? tx`` : tx`and r.player_id > ${after}`}
    order by r.player_id limit ${limit}`;
  return rows.map(({ player_id }) => player_id);
}

/** What the limits hold, locked until the transaction ends. */
export async function lockUsed(tx: Tx, campaign: BonusCampaignRow): Promise<Used> {
  const { tenant_id, project_id, campaign_id, template_id } = campaign;
  const templates = await lockBudgets(tx, [{ tenant_id, project_id, template_id }]);
  const [own] = await tx<{ used: string; grants: number }[]>`
    select used_base::text as used, used_grants as grants from bonus_campaign_budgets
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
    for no key update`;
  return {
    template_base: templates.get(template_id) ?? 0n,
    campaign_base: BigInt(own?.used ?? 0),
    campaign_grants: own?.grants ?? 0,
  };
}

/** What the limits hold now. */
export async function readUsed(
  tx: Tx,
  { tenant_id, project_id, campaign_id, template_id }: BonusCampaignRow,
): Promise<Used> {
  const [row] = await tx<{ template: string | null; used: string | null; grants: number | null }[]>`
    select
      (select used_base::text from bonus_budgets
        where template_id = ${template_id} and tenant_id = ${tenant_id} and project_id = ${project_id}) as template,
      b.used_base::text as used, b.used_grants as grants
    from (select) one left join bonus_campaign_budgets b
      on b.campaign_id = ${campaign_id} and b.tenant_id = ${tenant_id} and b.project_id = ${project_id}`;
  return {
    template_base: BigInt(row?.template ?? 0),
    campaign_base: BigInt(row?.used ?? 0),
    campaign_grants: row?.grants ?? 0,
  };
}

/** Adds to what the locked limits hold. */
export async function addUsed(
  tx: Tx,
  campaign: BonusCampaignRow,
  base: bigint,
  grants: number,
): Promise<void> {
  const { tenant_id, project_id, campaign_id } = campaign;
  await correctBudget(tx, campaign, base);
  await tx`
    update bonus_campaign_budgets set
      used_base = used_base + ${String(base)}::text::numeric, used_grants = used_grants + ${grants}
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/**
 * Notes the least that a grant costs of those that did not fit into the limits: of all members, or of those who are
 * decided about again.
 */
export async function noteShort(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  cost_base: bigint,
): Promise<void> {
  await tx`
    update bonus_campaign_budgets b set
      short_cost_base = case when b.retried_to is null then least(b.short_cost_base, ${String(cost_base)}::text::numeric)
        else b.short_cost_base end,
      retry_cost_base = case when b.retried_to is null then null
        else least(b.retry_cost_base, ${String(cost_base)}::text::numeric) end
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** A grant of a campaign to a member, and the first event of its history. */
export interface ReservedGrant {
  grant: NewGrant;
  event: NewHistory;
}

/**
 * Adds grants of one campaign with their first events. They differ only in player, place and amounts: all else is sent
 * and read once, because a campaign may have a million of them. Rejects with a unique violation when a place or the
 * exclusion group is taken.
 */
export async function insertReserved(tx: Tx, reserved: readonly ReservedGrant[]): Promise<void> {
  const [first] = reserved;
  if (first === undefined) return;
  const { bonus_amount_base: _, ...grant } = first.grant;
  const shared = JSON.stringify({ ...grant, event: first.event.event, source: first.event.source });
  const plain = (pick: (one: NewGrant) => string | number | bigint | null) =>
    plainArray(reserved.map((one) => pick(one.grant)));
  const texts = (pick: (one: ReservedGrant) => string) => textArray(reserved.map(pick));
  await tx`
    with added as materialized (
      select s.*, r.* from jsonb_to_record(${shared}::text::jsonb) as s (tenant_id uuid, project_id uuid,
        template_id uuid, template_version integer, campaign_id uuid, granted_by_kind text, granted_by_id uuid,
        granted_by_user text, terms jsonb, exclusion_group text, status text, outcome text, adapter_slug text,
        currency text, fx jsonb, base_fx jsonb, attempts integer, calls integer, first_called_at timestamptz,
        next_attempt_at timestamptz, created_at timestamptz, expires_at timestamptz, seq integer, event text,
        source text)
      cross join unnest(${plain((g) => g.grant_id)}::text::uuid[], ${plain((g) => g.player_id)}::text::uuid[],
        ${plain((g) => g.slot)}::text::integer[], ${texts(({ grant: g }) => g.player_external_id)}::text::text[],
        ${texts(({ grant: g }) => g.order_body)}::text::text[], ${plain((g) => g.deposit_amount)}::text::numeric[],
        ${plain((g) => g.bonus_amount)}::text::numeric[], ${plain((g) => g.bonus_amount_base)}::text::bigint[],
        ${plain((g) => g.wagering_required)}::text::numeric[], ${plain((g) => g.max_bet)}::text::numeric[],
        ${plain((g) => g.max_win_cap)}::text::numeric[],
        ${texts(({ event }) => JSON.stringify(event.data))}::text::text[])
        as r (grant_id, player_id, slot, player_external_id, order_body, deposit_amount, bonus_amount,
          bonus_amount_base, wagering_required, max_bet, max_win_cap, data)),
    grants as (
      insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, campaign_id,
        granted_by_kind, granted_by_id, granted_by_user, terms, exclusion_group, slot, status, outcome, adapter_slug,
        player_external_id, order_body, currency, deposit_amount, bonus_amount, bonus_amount_base, fx, base_fx,
        wagering_required, max_bet, max_win_cap, attempts, calls, first_called_at, next_attempt_at, created_at,
        expires_at, updated_at, seq)
      select a.tenant_id, a.project_id, a.grant_id, a.template_id, a.template_version, a.player_id, a.campaign_id,
        a.granted_by_kind, a.granted_by_id, a.granted_by_user, a.terms, a.exclusion_group, a.slot, a.status, a.outcome,
        a.adapter_slug, a.player_external_id, a.order_body, a.currency, a.deposit_amount, a.bonus_amount,
        a.bonus_amount_base, a.fx, a.base_fx, a.wagering_required, a.max_bet, a.max_win_cap, a.attempts, a.calls,
        a.first_called_at, a.next_attempt_at, a.created_at, a.expires_at, a.created_at, a.seq
      from added a)
    insert into bonus_grant_events (tenant_id, project_id, grant_id, seq, event, source, to_status, occurred_at,
      received_at, data)
    select a.tenant_id, a.project_id, a.grant_id, a.seq, a.event, a.source, a.status, a.created_at, a.created_at,
      a.data::jsonb
    from added a`;
}

/** What was decided about a member. */
export interface DecidedRow {
  player_id: string;
  status: 'reserved' | 'skipped';
  code: string | null;
  grant_id: string | null;
}

/** Writes what was decided about pending members. Rejects with WriteConflict when one of them is not pending any more. */
export async function updateDecided(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  rows: readonly DecidedRow[],
): Promise<void> {
  const updated = await tx`
    update bonus_campaign_rows r set status = d.status, code = d.code, grant_id = d.grant_id
    from unnest(
      ${plainArray(rows.map(({ player_id }) => player_id))}::text::uuid[],
      ${textArray(rows.map(({ status }) => status))}::text::text[],
      ${textArray(rows.map(({ code }) => code))}::text::text[],
      ${plainArray(rows.map(({ grant_id }) => grant_id))}::text::uuid[]) as d (player_id, status, code, grant_id)
    -- One by one: joined, Postgres might read all pending members of the campaign for each set.
    cross join lateral (
      select o.ctid from bonus_campaign_rows o
      where o.player_id = d.player_id and o.campaign_id = ${campaign_id} and o.tenant_id = ${tenant_id}
        and o.project_id = ${project_id}
      offset 0 for no key update) found
    where r.ctid = found.ctid and r.status = 'pending'`;
  if (updated.count !== rows.length)
    throw new WriteConflict('a member of the campaign was decided about meanwhile');
}
