import type { Tx } from '../../platform/postgres/port.ts';
import { campaignDraw, type HeldOutBy } from '../../engage/experiments/global.ts';
import { licenceRulesOf, readTenantConfig } from '../../tenants/config/read.ts';
import { requireActive } from '../grants/issue.ts';
import { readGrantRates, worthOf, type GrantRates, type Worth } from '../grants/worth.ts';
import { currenciesOf } from '../../tenants/licence/effective.ts';
import { needsDeposit } from '../templates/config.ts';
import { valuesInCurrencies } from '../templates/licence-check.ts';
import { readTemplate } from '../templates/read.ts';
import { termsOf, type BonusTerms } from '../templates/terms.ts';
import type { CampaignGate } from './admit.ts';
import { loadDailyBudget } from './daily-budget.ts';
import type { DailyBudget } from './pacing.ts';
import type { BonusCampaignRow } from './queries.ts';

/** What all grants of a campaign have in common at one moment. */
export interface IssueTerms extends CampaignGate {
  campaign: BonusCampaignRow;
  terms: BonusTerms;
  rates: GrantRates;
  /** Null: the campaign has none. */
  daily_budget: DailyBudget | null;
  /** Whose holdout a member is in who passes the gate; null: none. */
  heldOutBy: (player_id: string) => HeldOutBy | null;
}

/** What is known of members from their events: the last deposit, or what was lost in the window of a cashback. */
export interface MemberFacts {
  deposit_amount?: bigint;
  /** Of the last deposit. */
  deposit_transaction_id?: string;
  loss_base?: bigint;
}

/** Loads what the grants of a campaign follow from. Rejects with the errors of the template and its rates. */
export async function loadIssueTerms(tx: Tx, campaign: BonusCampaignRow, now: Date): Promise<IssueTerms> {
  const { tenant_id, template_id, currency_override } = campaign;
  const template = await readTemplate(tx, campaign, template_id);
  requireActive(template);
  const terms = termsOf(template);
  const config = await readTenantConfig(tx, tenant_id);
  const rules = licenceRulesOf(config, now);
  const rates = await readGrantRates(tx, tenant_id, terms.config.currency, currency_override, now);
  const question = { currency: rates.currency, currencies: currenciesOf(rules), now };
  const valueIn = await valuesInCurrencies(tx, tenant_id, question);
  const heldOutBy = await campaignDraw(tx, campaign, now);
  const daily_budget = await loadDailyBudget(tx, campaign, config);
  return { campaign, template, terms, config, rules, rates, daily_budget, valueIn, heldOutBy, now };
}

/** What bonuses are worth; every amount is computed once for all members who have it. */
export class Pricer {
  readonly #issue: IssueTerms;
  readonly #known = new Map<string, Worth>();

  constructor(issue: IssueTerms) {
    this.#issue = issue;
  }

  /** Throws the errors of a bonus that is worth nothing. */
  worth({ deposit_amount, loss_base }: MemberFacts): Worth {
    const { campaign, template, terms, rates } = this.#issue;
    const given =
      campaign.deposit_amount === null ? (deposit_amount ?? null) : BigInt(campaign.deposit_amount);
    const deposit = needsDeposit(template.type) ? given : null;
    const key = `${deposit} ${loss_base}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const loss = loss_base === undefined ? {} : { loss_base };
    const worth = worthOf(terms, rates, { deposit_amount: deposit, amount_override: null, ...loss });
    this.#known.set(key, worth);
    return worth;
  }
}
