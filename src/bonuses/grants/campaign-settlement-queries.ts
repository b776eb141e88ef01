import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { Statements } from './apply-queries.ts';
import type { GrantRef } from './grant-row.ts';

/** What the member of a campaign has got by its grant. Amounts are in the smallest unit of the base currency. */
export interface SettledRow extends GrantRef {
  player_id: string;
  updated_at: Date;
  status: 'granted' | 'skipped' | 'failed';
  code: string | null;
  /** The grant ended because its player is protected: the code is the reason. */
  is_by_protection: boolean;
  cost_base: bigint;
  released_base: bigint;
  is_open: boolean;
}

/** Writes what happened to the grants' members; each grant once. */
export function updateCampaignRows(tx: Tx, rows: readonly SettledRow[]): Statements {
  if (rows.length === 0) return [];
  const sorted = rows.toSorted((a, b) => (a.grant_id < b.grant_id ? -1 : 1));
  const asked = tx`jsonb_to_recordset(${JSON.stringify(sorted, digits)}::text::jsonb) as s (tenant_id uuid,
    project_id uuid, grant_id uuid, player_id uuid, updated_at timestamptz, status text, code text,
    is_by_protection boolean, cost_base bigint, released_base bigint, is_open boolean)`;
  const isAsked = tx`o.grant_id = s.grant_id and o.tenant_id = s.tenant_id and o.project_id = s.project_id`;
  return [
    // A statement of its own, so that the next one finds the rows as other transactions have left them.
    tx`
      select from ${asked}
      cross join lateral (select from bonus_campaign_rows o where ${isAsked} for no key update) o`,
    tx`
      update bonus_campaign_rows r set
        status = s.status, cost_base = s.cost_base, released_base = s.released_base, is_open = s.is_open,
        code = case when s.status = 'skipped' and s.is_by_protection then coalesce((
          select case
            when p.self_excluded or p.status = 'self_excluded' then 'SELF_EXCLUDED'
            when p.status = 'banned' then 'BANNED'
            when p.cooldown_until > s.updated_at then 'COOLDOWN' end
          from players p
          where p.player_id = s.player_id and p.tenant_id = s.tenant_id and p.project_id = s.project_id
        ), s.code) else s.code end
      from ${asked}
      cross join lateral (select o.ctid from bonus_campaign_rows o where ${isAsked} offset 0) found
      where r.ctid = found.ctid`,
  ];
}

const digits = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

/** The change that a grant makes to what its campaign holds of its limits. */
export interface CampaignCorrection extends GrantRef {
  campaign_id: string;
  base: bigint;
  grants: number;
}

/**
 * Changes what the grants of campaigns hold of their limits; a grant that only names a campaign holds nothing of them. The
 * daily budget changes when its day is the one in which the member was reserved; members who wait for it are decided about
 * at once when something is given back.
 */
export function correctCampaignBudgets(tx: Tx, corrections: readonly CampaignCorrection[]): Statements {
  const sorted = corrections
    .filter(({ base, grants }) => base !== 0n || grants !== 0)
    .sort((a, b) => (a.campaign_id < b.campaign_id ? -1 : 1));
  if (sorted.length === 0) return [];
  const asked = rowsOf(tx, 'r', sorted, {
    ...PROJECT_KEY,
    campaign_id: 'uuid',
    grant_id: 'uuid',
    base: 'numeric',
    grants: 'integer',
  });
  const isAsked = tx`o.campaign_id = r.campaign_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id`;
  return [
    // A statement of its own, so that the next one sees what other transactions have changed until then.
    tx`
      select from ${asked}
      cross join lateral (select from bonus_campaign_budgets o where ${isAsked} for no key update) o`,
    tx`
      update bonus_campaign_budgets b set
        used_base = b.used_base + r.base, used_grants = b.used_grants + r.grants,
        day_used_base = b.day_used_base + r.day_base,
        waits_until = case when r.day_base < 0 then null else b.waits_until end
      from (
        select r.tenant_id, r.project_id, r.campaign_id, sum(r.base) as base, sum(r.grants)::integer as grants,
          coalesce(sum(r.base) filter (where m.assigned_at >= d.day_from), 0) as day_base
        from ${asked}
        cross join lateral (select m.assigned_at from bonus_campaign_rows m
          where m.grant_id = r.grant_id and m.tenant_id = r.tenant_id and m.project_id = r.project_id limit 1) m
        left join lateral (select o.day_from from bonus_campaign_budgets o where ${isAsked} offset 0) d on true
        group by r.tenant_id, r.project_id, r.campaign_id) r
      cross join lateral (select o.ctid from bonus_campaign_budgets o where ${isAsked} offset 0) found
      where b.ctid = found.ctid`,
  ];
}
