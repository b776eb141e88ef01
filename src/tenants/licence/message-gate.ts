import {
  RULE_PRODUCTS,
  type ConsentChannel,
  type LicenceRule,
  type RiskLevel,
  type RuleProduct,
} from './rule.ts';

/** A consent that messages on bonuses of some products need. */
export interface NeededConsent {
  /** The messages that need it: those about these products. */
  of: readonly RuleProduct[];
  /** The product that the consent names; null: it is that to the channel. */
  product: string | null;
  /** A player who has said nothing gets no message; else only one who has said no. */
  is_required: boolean;
}

/** Players at risk who get no messages on bonuses. */
export interface BarredRisk {
  levels: readonly RiskLevel[];
  /** A player without a known risk gets none either. */
  is_required: boolean;
}

/** What the rules of a licence ask of messages on bonuses on one channel. */
export interface MessageRules {
  consents: readonly NeededConsent[];
  risks: readonly BarredRisk[];
}

/**
 * The rules of `effectiveRules` that apply to messages, as data for the gate of messages: it refuses a message exactly
 * when `violations` with `at: 'message'` finds a broken rule of any severity: no person would see a warning.
 * Statuses are not included: the gate lets no message pass to players whom one protects.
 */
export function messageRulesOf(rules: readonly LicenceRule[], channel: ConsentChannel): MessageRules {
  const [consents, risks] = [[] as NeededConsent[], [] as BarredRisk[]];
  for (const rule of rules) {
    if (rule.severity === 'info' || !rule.applies_to.includes('message')) continue;
    const is_required = rule.severity === 'enforce' && rule.jurisdiction !== 'all';
    const is_about_players = rule.kind === 'no_bonus_when' || rule.kind === 'no_new_bonus_when';
    if (is_about_players && rule.params.risk !== undefined) {
      risks.push({ levels: rule.params.risk, is_required });
    }
    if (rule.kind !== 'consent' || !rule.params.per_channel.includes(channel)) continue;
    const { per_product } = rule.params;
    if (per_product.length === 0) consents.push({ of: RULE_PRODUCTS, product: null, is_required });
    for (const product of per_product) {
      const of = RULE_PRODUCTS.filter((one) => one === product || one === 'any');
      consents.push({ of, product, is_required });
    }
  }
  return { consents, risks };
}
