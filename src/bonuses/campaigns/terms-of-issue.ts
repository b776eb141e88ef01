import { ApiError } from '../../errors.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { licenceRulesOf } from '../../tenants/config/bonus-settings.ts';
import { readTenantConfig, type TenantConfig } from '../../tenants/config/read.ts';
import { requireEligible } from '../grants/eligibility.ts';
import { refuseByLicence } from '../grants/grant-licence.ts';
import { countedFor, NO_GRANTS, requireActive, requirePlace } from '../grants/issue.ts';
import { countGrants, type GrantCounts, type GrantPlayer } from '../grants/issue-queries.ts';
import { selectMembers } from '../grants/reserve-queries.ts';
import { readGrantRates, worthOf, type GrantRates, type Worth } from '../grants/worth.ts';
import { currenciesOf } from '../licence/effective.ts';
import type { TermsFacts } from '../licence/facts.ts';
import type { LicenceRule } from '../licence/rule.ts';
import { needsDeposit } from '../templates/config.ts';
import { valuesInCurrencies } from '../templates/licence-check.ts';
import type { BonusTemplateRow, LicenceWarning } from '../templates/queries.ts';
import { readTemplate } from '../templates/read.ts';
import { termsOf, type BonusTerms } from '../templates/terms.ts';
import { selectGrantPlayers } from './member-queries.ts';
import type { BonusCampaignRow } from './queries.ts';

/** What all grants of a campaign have in common at one moment. */
export interface IssueTerms {
  campaign: BonusCampaignRow;
  template: BonusTemplateRow;
  terms: BonusTerms;
  config: TenantConfig;
  rules: readonly LicenceRule[];
  rates: GrantRates;
  /** What a bonus in the currency of the grants is worth in the currencies that the rules name. */
  valueIn: (amount: bigint) => TermsFacts['value_in'];
  now: Date;
}

/** What is known of members from their events: the last deposit, or what was lost in the window of a cashback. */
export interface MemberFacts {
  deposit_amount?: bigint;
  loss_base?: bigint;
}

/** What a member is to get, or why nothing. */
export type Decision =
  | {
      kind: 'grant';
      player: GrantPlayer;
      counts: GrantCounts;
      worth: Worth;
      warnings: readonly LicenceWarning[];
    }
  | { kind: 'skip'; player_id: string; code: string };

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
  return { campaign, template, terms, config, rules, rates, valueIn, now };
}

/**
 * Decides about members in few statements: who passes the gate and has a place, and what each bonus is worth. Budgets come
 * after it. `is_locked`: players are locked, and those are left out that another transaction holds now.
 */
export async function decideMembers(
  tx: Tx,
  issue: IssueTerms,
  player_ids: readonly string[],
  { facts, is_locked }: { facts: ReadonlyMap<string, MemberFacts>; is_locked: boolean },
): Promise<Decision[]> {
  const { campaign, template, now } = issue;
  const { tenant_id, project_id } = campaign;
  const { eligible_segment_id: segment_id } = template;
  const players = await selectGrantPlayers(tx, campaign, player_ids, is_locked);
  const refs = players.map(({ player_id }) => ({ tenant_id, project_id, player_id }));
  const [counts, members] = await Promise.all([
    countGrants(
      tx,
      refs.map((ref) => countedFor(ref, template, now)),
    ),
    selectMembers(tx, segment_id === null ? [] : refs.map((ref) => ({ ...ref, segment_id }))),
  ]);
  const pricer = new Pricer(issue);
  const decisions: Decision[] = [];
  for (const [place, player] of players.entries()) {
    const { player_id } = player;
    if (player.deleted_at !== null) {
      decisions.push({ kind: 'skip', player_id, code: 'CANCELLED' });
      continue;
    }
    const member = {
      player,
      counts: counts[place] ?? NO_GRANTS,
      is_member: (segment: string) => members.has(`${segment} ${player_id}`),
      facts: facts.get(player_id) ?? {},
    };
    try {
      decisions.push(await decide(pricer, issue, member));
    } catch (error) {
      decisions.push({ kind: 'skip', player_id, code: codeOf(error) });
    }
  }
  return decisions;
}

/** What is known of a member. */
interface Member {
  player: GrantPlayer;
  counts: GrantCounts;
  is_member: (segment_id: string) => boolean;
  facts: MemberFacts;
}

async function decide(
  pricer: Pricer,
  { campaign, template, config, rules, valueIn, now }: IssueTerms,
  { player, counts, is_member, facts }: Member,
): Promise<Decision> {
  let warnings: readonly LicenceWarning[] = [];
  // A player who is protected is skipped for that, whatever the bonus would be worth.
  await requireEligible({ player, template, counts, config, is_member, now }, () => {
    const { terms, amounts } = pricer.worth(facts);
    warnings = refuseByLicence(rules, valueIn(amounts.bonus_amount), {
      terms,
      amounts,
      qualifying_product: campaign.qualifying_product,
      is_amount_changed: false,
      player,
      bonuses_before: counts.ever,
      now,
    });
  });
  if (counts.has_live) return { kind: 'skip', player_id: player.player_id, code: 'ALREADY_GRANTED' };
  requirePlace(template, counts);
  return { kind: 'grant', player, counts, worth: pricer.worth(facts), warnings };
}

/** The code of a skipped member; errors that are about the campaign, not a member, are thrown. */
function codeOf(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  const { code, details } = error;
  if (code === 'BONUS_PLAYER_NOT_ELIGIBLE') return String(details?.['reason']);
  if (code === 'BONUS_GRANT_LIMIT_REACHED') return 'ALREADY_GRANTED';
  // The deposit is absent, or too small for a bonus.
  if (code === 'BONUS_DEPOSIT_AMOUNT_REQUIRED' || code === 'VALIDATION_ERROR') return 'NO_DEPOSIT';
  throw error;
}

/** What bonuses are worth; every amount is computed once for all members who have it. */
class Pricer {
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
