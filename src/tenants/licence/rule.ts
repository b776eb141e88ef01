/** Where rules come from: the countries and regions of licences, and `all`, which are the service's own. */
export const JURISDICTIONS = [
  'ukgc',
  'denmark',
  'sweden',
  'netherlands',
  'spain',
  'ontario',
  'malta',
  'germany',
  'all',
] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

/** Where an offer is advertised: to players directly, on the operator's own site, or in public. */
export const ADVERTISING = ['direct', 'own_site', 'public'] as const;
export type Advertising = (typeof ADVERTISING)[number];

/** When a rule is evaluated: a template or a campaign is written, a bonus granted, a message sent, a tier given. */
export const RULE_POINTS = ['template', 'campaign', 'grant', 'message', 'tier'] as const;
export type RulePoint = (typeof RULE_POINTS)[number];

/** What breaking a rule does: it is refused, it is shown, or the rule is only listed. */
export const RULE_SEVERITIES = ['enforce', 'warn', 'info'] as const;
export type RuleSeverity = (typeof RULE_SEVERITIES)[number];

/** How well a rule is known: from the text or the regulator, from somebody who writes about it, or not at all. */
export const EVIDENCE = ['primary', 'secondary', 'unverified'] as const;
export type Evidence = (typeof EVIDENCE)[number];

/** Of rules that say all by their kind. */
type NoParams = Readonly<Record<string, never>>;

/** The params of each kind of rule. */
export interface RuleParams {
  /** What has to be wagered is at most so many times the bonus, or bonus and deposit together. */
  max_wagering_multiple: { multiple: number; base: 'bonus' | 'bonus_plus_deposit' };
  /** In whole units of the currency. */
  max_bonus_value: { amount: number; currency: string };
  /** What a bonus is given for and what it is played on are the same one of these. */
  single_product: { products: readonly Exclude<RuleProduct, 'any'>[] };
  /** Every kind of game counts in full. */
  contribution_all_100: NoParams;
  /** Winnings need not be wagered. */
  no_wagering_on_winnings: NoParams;
  /** A bonus on a deposit is as much as the deposit. */
  deposit_equals_bonus_100pct: NoParams;
  min_days_to_fulfil: { days: number };
  /** No amount is changed for a single player. */
  same_terms: NoParams;
  /** Only the first bonus that a player ever gets. */
  first_bonus_only: NoParams;
  /** No bonus that makes up for losses. */
  no_loss_based: NoParams;
  min_age: { years: number };
  min_account_age_days: { days: number };
  /** The player's identity is verified. */
  verified: NoParams;
  /** No new bonus (and no message on one, where the rule applies to messages) while one of these holds. */
  no_bonus_when: {
    statuses?: readonly ProtectedStatus[];
    risk?: readonly Exclude<RiskLevel, 'none'>[];
    pending_withdrawal?: boolean;
    /** A deposit limit was raised in the last so many days. */
    limit_raised_days?: number;
  };
  /** The same of players at risk: bonuses that they have already go on. */
  no_new_bonus_when: { risk: readonly Exclude<RiskLevel, 'none'>[] };
  /** The player opted in, on each of these channels, and for each product where products are named. */
  consent: { per_product: readonly string[]; per_channel: readonly ConsentChannel[] };
  no_public_advertising: NoParams;
  /** What has to be on record before a player gets a host of their own. */
  vip_checks: { checks: readonly VipCheck[] };
  /** What no data can decide. */
  conduct: NoParams;
}
export type RuleKind = keyof RuleParams;

/** What bonuses are given for and played on; `any`: the player chooses. */
export const RULE_PRODUCTS = ['casino', 'betting', 'bingo', 'lottery', 'any'] as const;
export type RuleProduct = (typeof RULE_PRODUCTS)[number];
export type ProtectedStatus = 'self_excluded' | 'banned' | 'cooldown';
/** The values of the trait `rg_risk`. */
export const RISK_LEVELS = ['none', 'low', 'strong'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];
/** Those of a player at risk. */
export const AT_RISK = ['low', 'strong'] as const satisfies readonly RiskLevel[];
export type ConsentChannel = 'email' | 'sms' | 'phone' | 'push';
export type VipCheck = 'affordability_at' | 'harm_check_at' | 'edd_at' | 'approved_by';

/** A rule of a licence as data (no legal advice). */
export type LicenceRule = {
  [Kind in RuleKind]: {
    /** `<jurisdiction>_<name>`; it never changes, because tenants' configurations refer to it. */
    id: string;
    jurisdiction: Jurisdiction;
    kind: Kind;
    params: RuleParams[Kind];
    applies_to: readonly RulePoint[];
    /** Dates, the first on which the rule holds and the first on which it does not any more; null: always. */
    effective_from: string | null;
    effective_to: string | null;
    severity: RuleSeverity;
    /** One sentence. */
    summary: string;
    /** The document, and the place in it. */
    source: string;
    /** Null: a rule of the service's own. */
    source_url: string | null;
    evidence: Evidence;
    /** The date on which the source was read. */
    checked_on: string;
  };
}[RuleKind];

/** What a tenant's `config.license_rules` says of one rule. */
export interface RuleOverride {
  severity?: 'enforce' | 'warn' | undefined;
  /** Why; there is one where the rule is looser than its law. */
  reason?: string | undefined;
  /** Replace those of the rule's params that are numbers. */
  params?: Readonly<Record<string, number | undefined>> | undefined;
}

/** What a player plays who has the event; undefined: the event is not a bet. */
function productOfEvent(event: string): RuleProduct | undefined {
  if (/^bet_(placed|won|lost|settled)$/.test(event)) return 'casino';
  return event.startsWith('sport_') ? 'betting' : undefined;
}

/** What a bonus is given for when these events lead to it: null for no bet, `any` for bets on several products. */
export function qualifyingProductOf(events: Iterable<string>): RuleProduct | null {
  const products = new Set<RuleProduct>();
  for (const event of events) {
    const product = productOfEvent(event);
    if (product !== undefined) products.add(product);
  }
  const [first = null] = products;
  return products.size > 1 ? 'any' : first;
}
