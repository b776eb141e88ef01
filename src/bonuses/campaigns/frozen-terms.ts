import { v5 } from 'uuid';
import type { Worth } from '../grants/worth.ts';
import { parseTerms, termsJson } from '../templates/terms.ts';
import type { FrozenTermsRow } from './frozen-terms-queries.ts';
import type { IssueTerms } from './terms-of-issue.ts';

const digits = (amount: bigint | null) => (amount === null ? null : String(amount));
const amountOf = (text: string | null) => (text === null ? null : BigInt(text));

/** What members are promised who are to get a bonus of this worth; its id follows from all that it says. */
export function freeze(
  { campaign, template }: IssueTerms,
  worth: Worth,
  adapter_slug: string,
): FrozenTermsRow {
  const { tenant_id, project_id, campaign_id } = campaign;
  const { terms, amounts } = worth;
  const content = {
    terms: termsJson(terms),
    exclusion_group: template.exclusion_group,
    adapter_slug,
    currency: amounts.currency,
    deposit_amount: digits(amounts.deposit_amount),
    bonus_amount: String(amounts.bonus_amount),
    fx: worth.fx,
    base_fx: worth.base_fx,
    wagering_required: String(amounts.wagering_required),
    max_bet: digits(amounts.max_bet),
    max_win_cap: digits(amounts.max_win_cap),
    max_grants_per_player: template.max_grants_per_player,
    grant_window_days: template.grant_window_days,
  };
  const { bonus_amount_base } = worth;
  const terms_id = v5(JSON.stringify({ ...content, cost: String(bonus_amount_base) }), campaign_id);
  return { tenant_id, project_id, campaign_id, terms_id, bonus_amount_base, ...content };
}

/** The worth that was frozen. Throws BONUS_CONFIG_INVALID for terms that this version cannot read. */
export function frozenWorth(row: FrozenTermsRow): Worth {
  return {
    terms: parseTerms(row.terms),
    amounts: {
      kind: 'amounts',
      currency: row.currency,
      bonus_amount: BigInt(row.bonus_amount),
      deposit_amount: amountOf(row.deposit_amount),
      wagering_required: BigInt(row.wagering_required),
      max_bet: amountOf(row.max_bet),
      max_win_cap: amountOf(row.max_win_cap),
    },
    bonus_amount_base: row.bonus_amount_base,
    fx: row.fx,
    base_fx: row.base_fx,
  };
}
