import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { GrantRow } from '../grants/grant-row.ts';
import type { BonusCampaignRef } from './queries.ts';

/** What members of a campaign were promised, as Postgres has it; amounts are digits, as in a grant. */
export interface FrozenTermsRow
  extends
    BonusCampaignRef,
    Pick<
      GrantRow,
      | 'terms'
      | 'exclusion_group'
      | 'adapter_slug'
      | 'currency'
      | 'deposit_amount'
      | 'bonus_amount'
      | 'bonus_amount_base'
      | 'fx'
      | 'base_fx'
      | 'wagering_required'
      | 'max_bet'
      | 'max_win_cap'
    > {
  terms_id: string;
  max_grants_per_player: number | null;
  grant_window_days: number | null;
}

const jsonText = (rows: unknown) =>
  JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

/** Adds what members are promised; what is there already stays. */
export async function insertFrozenTerms(tx: Tx, rows: readonly FrozenTermsRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    insert into bonus_campaign_terms (tenant_id, project_id, campaign_id, terms_id, terms, exclusion_group, adapter_slug,
      currency, deposit_amount, bonus_amount, bonus_amount_base, fx, base_fx, wagering_required, max_bet, max_win_cap,
      max_grants_per_player, grant_window_days)
    select * from jsonb_to_recordset(${jsonText(rows)}::text::jsonb) as r (tenant_id uuid, project_id uuid,
      campaign_id uuid, terms_id uuid, terms jsonb, exclusion_group text, adapter_slug text, currency text,
      deposit_amount numeric, bonus_amount numeric, bonus_amount_base bigint, fx jsonb, base_fx jsonb,
      wagering_required numeric, max_bet numeric, max_win_cap numeric, max_grants_per_player integer,
      grant_window_days integer)
    on conflict do nothing`;
}

/** What members were promised, of these ids. */
export async function selectFrozenTerms(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  terms_ids: readonly string[],
): Promise<FrozenTermsRow[]> {
  return tx<FrozenTermsRow[]>`
    select t.* from unnest(${plainArray(terms_ids)}::text::uuid[]) as r (terms_id)
    cross join lateral (
      select * from bonus_campaign_terms t
      where t.terms_id = r.terms_id and t.campaign_id = ${campaign_id} and t.tenant_id = ${tenant_id}
        and t.project_id = ${project_id} offset 0) t`;
}

/** Removes the promised terms of a campaign of which no member waits any more; returns how many rows. */
export async function deleteFrozenTerms(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  limit: number,
): Promise<number> {
  const deleted = await tx`
    delete from bonus_campaign_terms where ctid = any(array(
      select t.ctid from bonus_campaign_terms t
      where t.campaign_id = ${campaign_id} and t.tenant_id = ${tenant_id} and t.project_id = ${project_id}
      limit ${limit}))`;
  return deleted.count;
}
