import { ApiError } from '../../errors.ts';
import { bonusSettingsOf, licenceRulesOf } from '../../tenants/config/read.ts';
import type { TenantConfig } from '../../tenants/config/schema.ts';
import type { BonusTemplateRow, LicenceWarning } from '../templates/queries.ts';
import type { GrantCounts, GrantPlayer } from './issue-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { currenciesOf } from '../../tenants/licence/effective.ts';
import { violations } from '../../tenants/licence/evaluate.ts';
import type { PlayerFacts, TermsFacts } from '../../tenants/licence/facts.ts';
import { RISK_LEVELS, type LicenceRule, type RuleProduct } from '../../tenants/licence/rule.ts';
import type { GrantAmounts } from '../templates/amounts.ts';
import { termsFactsOf, valuesInCurrencies } from '../templates/licence-check.ts';
import type { BonusTerms } from '../templates/terms.ts';

/** Why a player may not have a bonus. */
export type IneligibleReason =
  | 'SELF_EXCLUDED'
  | 'BANNED'
  | 'DELETED'
  | 'COOLDOWN'
  | 'AT_RISK'
  | 'KYC_LEVEL'
  | 'NOT_IN_SEGMENT'
  | 'LICENCE_RULE'
  | 'VELOCITY'
  | 'NOT_ELIGIBLE';

/** 422 BONUS_PLAYER_NOT_ELIGIBLE with the reason in its details. */
export function notEligible(
  reason: IneligibleReason,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): ApiError {
  return new ApiError('BONUS_PLAYER_NOT_ELIGIBLE', message, { details: { reason, ...more } });
}

const PROTECTED: Readonly<Record<string, string>> = {
  SELF_EXCLUDED: 'the player is self-excluded',
  BANNED: 'the player is banned',
  DELETED: 'the player is deleted',
  COOLDOWN: 'the player takes a break',
};

/** The error for a player who is protected, by the reason of `selectProtected`. */
export function protectedError(reason: string, details: Readonly<Record<string, unknown>> = {}): ApiError {
  return notEligible(
    reason as IneligibleReason,
    `${PROTECTED[reason] ?? 'the player is protected'}: no bonus may be granted`,
    details,
  );
}

/** What the gate decides by. */
export interface GateInput {
  player: GrantPlayer;
  template: Pick<BonusTemplateRow, 'min_kyc_level' | 'eligible_segment_id'>;
  counts: Pick<GrantCounts, 'of_day'>;
  config: TenantConfig;
  /** Whether the player is a member of a segment. */
  is_member: (segment_id: string) => boolean | Promise<boolean>;
  now: Date;
}

/**
 * The gate of a grant: rejects with BONUS_PLAYER_NOT_ELIGIBLE by the first reason that holds, the player's own protection
 * before the tenant's rules. `licence` rejects when a rule of the tenant's licence forbids the grant.
 */
export async function requireEligible(input: GateInput, licence: () => void | Promise<void>): Promise<void> {
  const { player, template, counts, config, is_member, now } = input;
  if (player.is_self_excluded) throw protectedError('SELF_EXCLUDED');
  if (player.is_banned) throw protectedError('BANNED');
  if (player.cooldown_until !== null && player.cooldown_until > now) throw protectedError('COOLDOWN');
  if (player.rg_risk === 'strong') {
    throw notEligible(
      'AT_RISK',
      'the player shows strong signs of harm (rg_risk): no new bonus may be granted',
    );
  }
  const { min_kyc_level, eligible_segment_id } = template;
  if (min_kyc_level !== null && (player.kyc_status !== 'approved' || player.kyc_level < min_kyc_level)) {
    const has = `${player.kyc_status}, level ${player.kyc_level}`;
    throw notEligible(
      'KYC_LEVEL',
      `the bonus needs an approved KYC level of ${min_kyc_level}; the player is ${has}`,
    );
  }
  if (eligible_segment_id !== null && !(await is_member(eligible_segment_id))) {
    throw notEligible(
      'NOT_IN_SEGMENT',
      `the player is not in segment ${eligible_segment_id}, which the bonus is for`,
    );
  }
  await licence();
  const { grants_per_day: per_day } = bonusSettingsOf(config);
  if (counts.of_day >= per_day) {
    const message = `the player was granted ${counts.of_day} bonuses in the last 24 hours; ${per_day} are allowed`;
    throw notEligible('VELOCITY', message);
  }
}

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
    has_pending_withdrawal: player.has_pending_withdrawal,
    limit_raised_at: player.limit_raised_at ?? 'never',
    bonuses_before,
    consent: {},
  };
}
