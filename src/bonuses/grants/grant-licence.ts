import type { Tx } from '../../platform/postgres/port.ts';
import { licenceRulesOf } from '../../tenants/config/bonus-settings.ts';
import type { TenantConfig } from '../../tenants/config/read.ts';
import { currenciesOf } from '../../tenants/licence/effective.ts';
import { violations } from '../../tenants/licence/evaluate.ts';
import type { PlayerFacts, TermsFacts } from '../../tenants/licence/facts.ts';
import { RISK_LEVELS, type LicenceRule, type RuleProduct } from '../../tenants/licence/rule.ts';
import type { GrantAmounts } from '../templates/amounts.ts';
import { termsFactsOf, valuesInCurrencies } from '../templates/licence-check.ts';
import type { LicenceWarning } from '../templates/queries.ts';
import type { BonusTerms } from '../templates/terms.ts';
import { notEligible } from './eligibility.ts';
import type { GrantPlayer } from './issue-queries.ts';

/** What the rules of a licence ask of a grant. `terms` are in its currency. */
export interface LicenceInput {
  terms: BonusTerms;
  amounts: GrantAmounts;
  /** What the player did to get the bonus; null: not known, or nothing that is a bet. */
  qualifying_product: RuleProduct | null;
  is_amount_changed: boolean;
  player: GrantPlayer;
  /** Grants to the player before this one, of any template, but for cancelled and failed ones. */
  bonuses_before: number;
  now: Date;
}

/**
 * Rejects with BONUS_PLAYER_NOT_ELIGIBLE, reason LICENCE_RULE, when an enforced rule of the tenant's licence forbids the
 * grant; `details.rule_id` names the first. What is not known of a player breaks enforced rules. Returns the broken rules
 * that only warn.
 */
export async function requireLicence(
  tx: Tx,
  { tenant_id, config, ...input }: LicenceInput & { tenant_id: string; config: TenantConfig },
): Promise<LicenceWarning[]> {
  const { now, amounts } = input;
  const rules = licenceRulesOf(config, now);
  const question = { currency: amounts.currency, currencies: currenciesOf(rules), now };
  const valueIn = await valuesInCurrencies(tx, tenant_id, question);
  return refuseByLicence(rules, valueIn(amounts.bonus_amount), input);
}

/** The same, with the rules that hold for the tenant and with what the bonus is worth in their currencies. */
export function refuseByLicence(
  rules: readonly LicenceRule[],
  value_in: TermsFacts['value_in'],
  input: LicenceInput,
): LicenceWarning[] {
  const { terms, amounts, qualifying_product, is_amount_changed, now } = input;
  const { bonus_amount, deposit_amount, wagering_required } = amounts;
  const facts = {
    terms: termsFactsOf(terms, value_in),
    bonus_amount,
    deposit_amount,
    wagering_required,
    qualifying_product,
    is_amount_changed,
    player: playerFactsOf(input),
  };
  const broken = violations(rules, { at: 'grant', facts, now });
  const first = broken.find(({ severity }) => severity === 'enforce');
  if (first === undefined) return broken.map(({ rule_id, message }) => ({ rule_id, message }));
  const { rule_id, message, missing_trait } = first;
  const missing = missing_trait === undefined ? {} : { missing_trait };
  throw notEligible('LICENCE_RULE', `${rule_id}: ${message}`, { rule_id, ...missing });
}

function playerFactsOf({ player, bonuses_before }: LicenceInput): PlayerFacts {
  const { rg_risk, birth_date } = player;
  return {
    // The gate has refused players whom a status protects.
    statuses: [],
    birth_date,
    rg_risk: RISK_LEVELS.find((level) => level === rg_risk) ?? null,
    kyc_status: player.kyc_status,
    first_seen_at: player.first_seen_at,
    // Postgres has no withdrawals or limits by player.
    has_pending_withdrawal: null,
    limit_raised_at: null,
    bonuses_before,
    consent: {},
  };
}
