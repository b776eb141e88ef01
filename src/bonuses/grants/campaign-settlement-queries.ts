import type { Tx } from '../../platform/postgres/port.ts';
import type { GrantRow } from './grant-row.ts';

/** What a member of a campaign has got. Amounts are in the smallest unit of the base currency. */
export interface SettledRow {
  status: 'granted' | 'skipped' | 'failed';
  code: string | null;
  /** The grant ended because its player is protected: the code is the reason. */
  is_by_protection: boolean;
  cost_base: bigint;
  released_base: bigint;
  is_open: boolean;
}

/** Writes what has become of the grant's member. */
export async function updateCampaignRow(
  tx: Tx,
  { tenant_id, project_id, grant_id, player_id, updated_at }: GrantRow,
  row: SettledRow,
): Promise<void> {
  await tx`
    update bonus_campaign_rows r set
      status = ${row.status}, cost_base = ${row.cost_base}, released_base = ${row.released_base},
      is_open = ${row.is_open},
      code = case when ${row.status === 'skipped' && row.is_by_protection} then coalesce((
        select case
          when p.self_excluded or p.status = 'self_excluded' then 'SELF_EXCLUDED'
          when p.status = 'banned' then 'BANNED'
          when p.cooldown_until > ${updated_at} then 'COOLDOWN' end
        from players p
        where p.player_id = ${player_id} and p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
      ), ${row.code}) else ${row.code} end
    where r.grant_id = ${grant_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}`;
}

/** Changes what the grants of a campaign hold of its limits; a grant that only names a campaign holds nothing of them. */
export async function correctCampaignBudget(
  tx: Tx,
  { tenant_id, project_id, campaign_id, grant_id }: GrantRow,
  { base, grants }: { base: bigint; grants: number },
): Promise<void> {
  if (base === 0n && grants === 0) return;
  await tx`
    update bonus_campaign_budgets set
      used_base = used_base + ${String(base)}::text::numeric, used_grants = used_grants + ${grants}
    where campaign_id = ${campaign_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
      and exists (select from bonus_campaign_rows r
        where r.grant_id = ${grant_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id})`;
}
