import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import { correctBudget } from '../grants/apply-queries.ts';
import { lockBudgets } from '../grants/reserve-queries.ts';
import type { BudgetDay } from './pacing.ts';
import type { BonusCampaignRef, BonusCampaignRow } from './queries.ts';
import type { Used } from './room.ts';

/** Members of a campaign that wait for a decision, in the order of their ids, after `after`; `only`: this one. */
export async function selectPending(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  { limit, only, after }: { limit: number; only?: string | undefined; after?: string },
): Promise<string[]> {
  // One text: a row for each member costs this process more than all else about it.
  const [row] = await tx<{ ids: string | null }[]>`
    select string_agg(p.player_id::text, ',') as ids from (
      select r.player_id from bonus_campaign_rows r
      where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
        and r.status = 'pending' ${only === undefined ? tx`` : tx`and r.player_id = ${only}`}
        ${after === undefined ? tx`` : tx`and r.player_id > ${after}`}
      order by r.player_id limit ${limit}) p`;
  return row === undefined || row.ids === null ? [] : row.ids.split(',');
}

/** What the limits hold; `day`: the day in which the daily budget was taken from last, null: none. */
export interface LockedUse extends Used {
  day: BudgetDay | null;
}

/** What the limits hold, locked until the transaction ends. */
export async function lockUsed(tx: Tx, campaign: BonusCampaignRow): Promise<LockedUse> {
  const { tenant_id, project_id, campaign_id, template_id } = campaign;
  const templates = await lockBudgets(tx, [{ tenant_id, project_id, template_id }]);
  const [own] = await tx<OwnUse[]>`
    select used_base::text as used, used_grants as grants, day_from, day_to, day_used_base::text as day_used
    from bonus_campaign_budgets
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
    for no key update`;
  return {
    template_base: templates.get(template_id) ?? 0n,
    campaign_base: BigInt(own?.used ?? 0),
    campaign_grants: own?.grants ?? 0,
    day: own === undefined ? null : dayOf(own),
  };
}

interface StoredDay {
  day_from: Date | null;
  day_to: Date | null;
  day_used: string;
}
interface OwnUse extends StoredDay {
  used: string;
  grants: number;
}

/** The day of a row of `bonus_campaign_budgets`. */
export function dayOf({ day_from, day_to, day_used }: StoredDay): BudgetDay | null {
  if (day_from === null || day_to === null) return null;
  return { from_ms: day_from.getTime(), to_ms: day_to.getTime(), used_base: BigInt(day_used) };
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

/** Takes from the limits, which {@link lockUsed} has locked; `day`: the day of the daily budget with what is taken, if there is one. */
export async function takeUsed(
  tx: Tx,
  campaign: BonusCampaignRow,
  { base, grants, day }: { base: bigint; grants: number; day: BudgetDay | null },
): Promise<void> {
  const { tenant_id, project_id, campaign_id } = campaign;
  await correctBudget(tx, campaign, base);
  await tx`
    update bonus_campaign_budgets set
      used_base = used_base + ${String(base)}::text::numeric, used_grants = used_grants + ${grants}
      ${day === null ? tx`` : tx`, ${dayColumns(tx, day)}`}
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** Sets the day of a row of `bonus_campaign_budgets`. */
export function dayColumns(tx: Tx, { from_ms, to_ms, used_base }: BudgetDay) {
  return tx`day_from = ${new Date(from_ms)}, day_to = ${new Date(to_ms)},
    day_used_base = ${String(used_base)}::text::numeric`;
}

/** What was held for members who were drawn at the same time. */
export interface Held {
  assigned_at: Date | null;
  base: bigint;
  grants: number;
}

/** Gives back what was held for reserved members: to the day, too, if it is the one in which they were reserved. */
export async function giveBack(tx: Tx, campaign: BonusCampaignRow, held: readonly Held[]): Promise<void> {
  const { tenant_id, project_id, campaign_id } = campaign;
  const base = held.reduce((sum, one) => sum + one.base, 0n);
  const grants = held.reduce((sum, one) => sum + one.grants, 0);
  const rows = JSON.stringify(held.map((one) => ({ at: one.assigned_at, base: String(one.base) })));
  await correctBudget(tx, campaign, -base);
  // Members who wait are decided about at once: there may be room now.
  await tx`
    update bonus_campaign_budgets b set
      used_base = b.used_base - ${String(base)}::text::numeric, used_grants = b.used_grants - ${grants}, waits_until = null,
      day_used_base = b.day_used_base - (
        select coalesce(sum(h.base), 0) from jsonb_to_recordset(${rows}::text::jsonb) as h (at timestamptz, base numeric)
        where h.at >= b.day_from)
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

/** What happens to members' rows. `assigned_at`: when they passed the gate and were drawn. `reserved`: what each of them costs, and was promised, for which deposit; `sent`: its grant. */
export type RowsChange = { player_ids: readonly string[] } & (
  | {
      status: 'reserved';
      terms_id: string;
      cost_base: bigint;
      deposit_transaction_id: string | null;
      assigned_at: Date;
    }
  | { status: 'sent'; grant_id: string }
  | { status: 'skipped'; code: string; assigned_at?: Date }
);

/** Changes rows of members who are `from`. Rejects with WriteConflict when one of them is not any more. */
export async function updateRows(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  from: 'pending' | 'reserved',
  changes: readonly RowsChange[],
): Promise<void> {
  const rows = changes.map(({ player_ids, ...change }) => ({ ...change, ids: plainArray(player_ids) }));
  const json = JSON.stringify(rows, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  const updated = await tx`
    update bonus_campaign_rows r set
      status = d.status, code = d.code, assigned_at = coalesce(r.assigned_at, d.assigned_at), grant_id = d.grant_id, is_open = d.status <> 'skipped',
      terms_id = case when d.status = 'sent' then r.terms_id else d.terms_id end,
      deposit_transaction_id = case when d.status = 'sent' then r.deposit_transaction_id
        else d.deposit_transaction_id end,
      cost_base = case when d.status = 'sent' then r.cost_base else coalesce(d.cost_base, 0) end
    from jsonb_to_recordset(${json}::text::jsonb)
      as d (ids text, status text, code text, grant_id uuid, terms_id uuid, cost_base bigint, deposit_transaction_id text,
        assigned_at timestamptz)
    cross join lateral unnest(d.ids::uuid[]) as m (player_id)
    -- One by one: joined, Postgres might read all pending members of the campaign for each set. A row that another
    -- transaction has changed since is not found where it was.
    cross join lateral (
      select o.ctid from bonus_campaign_rows o
      where o.player_id = m.player_id and o.campaign_id = ${campaign_id} and o.tenant_id = ${tenant_id}
        and o.project_id = ${project_id}
      offset 0) found
    where r.ctid = found.ctid and r.status = ${from}`;
  const members = changes.reduce((sum, { player_ids }) => sum + player_ids.length, 0);
  if (updated.count !== members) throw new WriteConflict('a member of the campaign was changed meanwhile');
}
