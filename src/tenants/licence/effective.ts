import {
  RULE_SEVERITIES,
  type Jurisdiction,
  type LicenceRule,
  type RuleKind,
  type RuleOverride,
} from './rule.ts';
import { LICENCE_RULES } from './rules.ts';

/** Which way a number of a rule's params may be moved by a tenant: towards what allows less. */
const STRICTER: Partial<Record<RuleKind, Readonly<Record<string, 'lower' | 'higher'>>>> = {
  max_wagering_multiple: { multiple: 'lower' },
  max_bonus_value: { amount: 'lower' },
  min_days_to_fulfil: { days: 'higher' },
  min_age: { years: 'higher' },
  min_account_age_days: { days: 'higher' },
  no_bonus_when: { limit_raised_days: 'higher' },
};

/** The numbers of a rule's params that a tenant may tighten, and what the rule itself says. */
export function tightenable({
  kind,
  params,
}: LicenceRule): { name: string; direction: 'lower' | 'higher'; value: number }[] {
  const values: Readonly<Record<string, unknown>> = { ...params };
  return Object.entries(STRICTER[kind] ?? {}).flatMap(([name, direction]) => {
    const value = values[name];
    return typeof value === 'number' ? [{ name, direction, value }] : [];
  });
}

/**
 * The rules that hold for a tenant on a day (UTC): those of its licence and those for all, with what the tenant's
 * configuration changes. Rules that are only listed (`info`) are not included.
 */
export function effectiveRules(
  jurisdiction: Jurisdiction | null,
  overrides: Readonly<Record<string, RuleOverride | undefined>>,
  now: Date,
): LicenceRule[] {
  const today = now.toISOString().slice(0, 10);
  return LICENCE_RULES.filter((rule) => rule.jurisdiction === 'all' || rule.jurisdiction === jurisdiction)
    .filter(({ effective_from: from, effective_to: to }) => (from ?? '') <= today && today < (to ?? '~'))
    .map((rule) => overridden(rule, overrides[rule.id]))
    .filter(({ severity }) => severity !== 'info');
}

function overridden(rule: LicenceRule, override: RuleOverride | undefined): LicenceRule {
  if (override === undefined) return rule;
  const { severity = rule.severity, params = {} } = override;
  const given = Object.entries(params).filter(([, value]) => value !== undefined);
  return { ...rule, severity, params: { ...rule.params, ...Object.fromEntries(given) } } as LicenceRule;
}

/**
 * The rules that allow more under `after` than under `before`, both by id of the rule: they refuse less, or a number moved
 * the way that a tenant may not move it by itself.
 */
export function loosened(
  before: Readonly<Record<string, RuleOverride | undefined>>,
  after: Readonly<Record<string, RuleOverride | undefined>>,
): string[] {
  return LICENCE_RULES.filter((rule) =>
    allowsMore(overridden(rule, after[rule.id]), overridden(rule, before[rule.id])),
  ).map(({ id }) => id);
}

function allowsMore(a: LicenceRule, b: LicenceRule): boolean {
  if (RULE_SEVERITIES.indexOf(a.severity) > RULE_SEVERITIES.indexOf(b.severity)) return true;
  const before = new Map(tightenable(b).map(({ name, value }) => [name, value]));
  return tightenable(a).some(({ name, direction, value }) => {
    const old = before.get(name) ?? value;
    return direction === 'lower' ? value > old : value < old;
  });
}

/** The currencies in which the rules have amounts: in these the value of a bonus has to be known. */
export function currenciesOf(rules: readonly LicenceRule[]): string[] {
  return [
    ...new Set(rules.flatMap((rule) => (rule.kind === 'max_bonus_value' ? [rule.params.currency] : []))),
  ];
}

/** Whether one of the rules asks for a player's withdrawals or limits. */
export function asksForMoney(rules: readonly LicenceRule[]): boolean {
  return rules.some(
    ({ kind, params }) =>
      kind === 'no_bonus_when' &&
      (params.pending_withdrawal === true || params.limit_raised_days !== undefined),
  );
}
