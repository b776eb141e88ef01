import { ApiError } from '../../errors.ts';
import { latestRateWithin } from '../../ledger/fx/latest-rate.ts';
import { selectCurrencies } from '../../ledger/fx/queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { licenceRulesOf, readTenantConfig } from '../../tenants/config/read.ts';
import { currenciesOf } from '../../tenants/licence/effective.ts';
import { violations, type Violation } from '../../tenants/licence/evaluate.ts';
import type { CampaignFacts, TermsFacts, ValueIn } from '../../tenants/licence/facts.ts';
import type { LicenceRule } from '../../tenants/licence/rule.ts';
import { baseCeil } from './amounts.ts';
import { largestBonus, needsDeposit } from './config.ts';
import type { LicenceWarning } from './queries.ts';
import type { BonusTerms } from './terms.ts';
import { contributionOf, CONTRIBUTION_KEYS } from './wagering.ts';

/** The licence rules that hold for a tenant now. Rejects when the tenant does not exist. */
export async function readLicenceRules(tx: Tx, tenant_id: string, now: Date): Promise<LicenceRule[]> {
  return licenceRulesOf(await readTenantConfig(tx, tenant_id), now);
}

/** What the rules ask of terms; `value_in` of {@link valuesInCurrencies}. */
export function termsFactsOf(terms: BonusTerms, value_in: TermsFacts['value_in']): TermsFacts {
  const { config, product, wagering, game_contribution, time_limit_hours } = terms;
  return {
    type: config.type,
    product,
    wagering,
    match_percent: 'match_percent' in config && needsDeposit(config.type) ? config.match_percent : null,
    contributions: CONTRIBUTION_KEYS.map((key) => contributionOf(game_contribution, key)),
    time_limit_hours,
    value_in,
  };
}

/**
 * What amounts are in each of the currencies by the tenant's latest rates, rounded up. A currency is absent that the
 * catalogue does not have, or to which no rate is known.
 */
export async function valuesInCurrencies(
  tx: Tx,
  tenant_id: string,
  { currency, currencies, now }: ValueQuestion,
): Promise<(amount: bigint) => Record<string, ValueIn | undefined>> {
  if (currencies.length === 0) return () => ({});
  const catalogue = await selectCurrencies(tx, tenant_id);
  const scales = new Map(catalogue.map(({ code, scale }) => [code, scale]));
  const found = await Promise.all(
    currencies.map(async (quote): Promise<[string, ((amount: bigint) => ValueIn) | undefined]> => {
      const [from_scale, to_scale] = [scales.get(currency), scales.get(quote)];
      if (from_scale === undefined || to_scale === undefined) return [quote, undefined];
      if (quote === currency) return [quote, (amount) => ({ amount, scale: to_scale })];
      const latest = await latestRateWithin(tx, tenant_id, { base: currency, quote }, now);
      if (latest === undefined) return [quote, undefined];
      const rate = { steps: latest.steps, from_scale, to_scale };
      return [quote, (amount) => ({ amount: baseCeil(amount, rate), scale: to_scale })];
    }),
  );
  return (amount) => Object.fromEntries(found.map(([quote, convert]) => [quote, convert?.(amount)]));
}

/** The currency of amounts, and those in which they have to be known. */
interface ValueQuestion {
  currency: string;
  currencies: readonly string[];
  now: Date;
}

/**
 * Checks the terms of a template against the tenant's licence rules. Returns the broken rules that only warn. Rejects
 * with LICENCE_RULE_VIOLATED.
 */
export async function checkLicence(
  tx: Tx,
  tenant_id: string,
  terms: BonusTerms,
  now: Date,
): Promise<LicenceWarning[]> {
  const broken = await templateViolations(tx, tenant_id, terms, now);
  refuseViolations(broken);
  return broken.map(({ rule_id, message }) => ({ rule_id, message }));
}

/** The tenant's licence rules that the terms of a template break now, enforced ones and those that only warn. */
export async function templateViolations(
  tx: Tx,
  tenant_id: string,
  terms: BonusTerms,
  now: Date,
): Promise<Violation[]> {
  const rules = await readLicenceRules(tx, tenant_id, now);
  const { config } = terms;
  const question = { currency: config.currency, currencies: currenciesOf(rules), now };
  const valueIn = await valuesInCurrencies(tx, tenant_id, question);
  const value_in = valueIn(largestBonus(config));
  return violations(rules, { at: 'template', facts: termsFactsOf(terms, value_in), now });
}

/** What a campaign or a journey offers. */
export type Offer = Pick<CampaignFacts, 'qualifying_product' | 'advertising'> & { terms: BonusTerms };

/** The rules that offering the bonuses breaks, of each offer. */
export async function offerViolations(
  tx: Tx,
  tenant_id: string,
  offers: readonly Offer[],
  now: Date,
): Promise<Violation[][]> {
  const rules = await readLicenceRules(tx, tenant_id, now);
  const currencies = currenciesOf(rules);
  const found: Violation[][] = [];
  for (const { terms, ...offer } of offers) {
    const { config } = terms;
    const valueIn = await valuesInCurrencies(tx, tenant_id, { currency: config.currency, currencies, now });
    const facts = { ...offer, terms: termsFactsOf(terms, valueIn(largestBonus(config))) };
    found.push(violations(rules, { at: 'campaign', facts, now }));
  }
  return found;
}

/** Throws LICENCE_RULE_VIOLATED when an enforced rule is broken; `details.rule_id` names the first. */
export function refuseViolations(broken: readonly Violation[]): void {
  const enforced = broken.filter(({ severity }) => severity === 'enforce');
  const [first] = enforced;
  if (first === undefined) return;
  const { rule_id, message } = first;
  throw new ApiError('LICENCE_RULE_VIOLATED', `${rule_id}: ${message}`, {
    details: { rule_id, violations: enforced.map(({ severity: _severity, ...shown }) => shown) },
  });
}
