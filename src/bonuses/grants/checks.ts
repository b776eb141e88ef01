import { ApiError } from '../../errors.ts';
import { requireLiveRow } from '../../http/record.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { playerNotFound } from '../../players/profile/read.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { licenceRulesOf, readTenantConfig } from '../../tenants/config/read.ts';
import type { TenantConfig } from '../../tenants/config/schema.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { SANDBOX_SLUG } from '../../adapters/platform.ts';
import { noActiveAdapter } from '../../adapters/platforms.ts';
import { selectActiveSlugs } from '../../adapters/queries.ts';
import { currenciesOf } from '../../tenants/licence/effective.ts';
import type { ValueIn } from '../../tenants/licence/facts.ts';
import type { LicenceRule } from '../../tenants/licence/rule.ts';
import { valuesInCurrencies } from '../templates/licence-check.ts';
import { selectBonusTemplates, type BonusTemplateRow, type LicenceWarning } from '../templates/queries.ts';
import { BONUS_TEMPLATE } from '../templates/read.ts';
import { termsOf, type BonusTerms } from '../templates/terms.ts';
import { requireEligible, refuseByLicence } from './eligibility.ts';
import {
  countedFor,
  newGrantOf,
  NO_GRANTS,
  requireActive,
  requirePlace,
  requireRunning,
  type GrantRequest,
} from './issue.ts';
import { countGrants, type GrantCounts, type GrantPlayer, type NewGrant } from './issue-queries.ts';
import { lockBudgets, lockGrantPlayers, selectMembers } from './reserve-queries.ts';
import { readGrantRates, worthOf, type GrantRates, type Worth } from './worth.ts';

/** A grant that is asked for. */
export interface AskedGrant extends PlayerRef, Omit<GrantRequest, 'grant_id' | 'player_id'> {
  grant_id: string;
  /** What was lost in the window of a cashback, or staked, in the smallest unit of the base currency. */
  loss_base?: bigint;
  /** ClickHouse does not have all bets of the player, so that the loss of a cashback is not known yet. */
  is_loss_behind?: boolean;
  /**
   * The project's platform, or why it has none: that is thrown after all other checks. Absent: it is read with the rest.
   */
  platform?: { slug: string } | ApiError;
  /** The caller calls the platform itself, right after the commit; otherwise the sender does. */
  is_attempted: boolean;
}

/** A grant that passed its checks but for the budget; `platform` is an error when there is none. */
export interface CheckedGrant {
  asked: AskedGrant;
  template: BonusTemplateRow;
  intent: NewGrant;
  warnings: readonly LicenceWarning[];
  no_platform: ApiError | undefined;
}

type Values = (amount: bigint) => Record<string, ValueIn | undefined>;

/**
 * The checks of grants in the order of the documentation, over what a few statements have read for all of them, each thing
 * once. At most one grant of a player. Locks players, then their grants, then the budgets of the templates, each in the
 * order of their ids; so a grant by another transaction waits, and what is counted here stays true.
 */
export class Checks {
  readonly #tx: Tx;
  readonly #now: Date;
  readonly #templates = new Map<string, BonusTemplateRow>();
  readonly #terms = new Map<string, BonusTerms | ApiError>();
  readonly #players = new Map<string, GrantPlayer>();
  readonly #configs = new Map<string, { config: TenantConfig; rules: readonly LicenceRule[] }>();
  /** By project; null: it has adapters, and none is active. */
  #slugs: ReadonlyMap<string, string | null> = new Map();
  readonly #counts = new Map<string, GrantCounts>();
  #members: ReadonlySet<string> = new Set();
  /** By tenant and currencies; a rejection concerns only the grants in these. */
  readonly #rates = new Map<string, Promise<GrantRates>>();
  readonly #values = new Map<string, Promise<Values>>();
  /** What the grants of the templates cost so far, by template. */
  used: Map<string, bigint> = new Map();

  constructor(tx: Tx, now: Date) {
    this.#tx = tx;
    this.#now = now;
  }

  /**
   * First: locks the players and reads what asks for no other. `waits` false: players whom another transaction holds are
   * omitted, as those who do not exist. Returns the players who are locked.
   */
  async lock(asked: readonly AskedGrant[], waits: boolean): Promise<ReadonlySet<string>> {
    const tx = this.#tx;
    const unknown = asked.filter(({ platform }) => platform === undefined);
    const projects = [...new Map(unknown.map((one) => [one.project_id, projectRefOf(one)])).values()];
    // Async functions, all of them, so that their statements are sent in this order.
    const [players, templates, slugs] = await Promise.all([
      lockGrantPlayers(tx, asked, waits),
      selectBonusTemplates(tx, distinct(asked)),
      projects.length === 0 ? [] : selectActiveSlugs(tx, projects),
      this.#readConfigs(asked),
    ]);
    for (const player of players) this.#players.set(player.player_id, player);
    for (const template of templates) this.#templates.set(template.template_id, template);
    this.#slugs = new Map(
      slugs.map(({ project_id, slug, has_adapters }) => [
        project_id,
        slug ?? (has_adapters ? null : SANDBOX_SLUG),
      ]),
    );
    return new Set(this.#players.keys());
  }

  /** Second: counts the grants of the locked players and reads the rates; locks the budgets if it is to. */
  async count(asked: readonly AskedGrant[], locks_budgets: boolean): Promise<void> {
    const tx = this.#tx;
    const counted = asked.flatMap((one) => {
      const template = this.#templates.get(one.template_id);
      return template === undefined || !this.#players.has(one.player_id) ? [] : [{ one, template }];
    });
    if (counted.length === 0) return;
    const counting = countGrants(
      tx,
      counted.map(({ one, template }) => countedFor(one, template, this.#now)),
    );
    const members = selectMembers(
      tx,
      counted.flatMap(({ one, template: { eligible_segment_id } }) =>
        eligible_segment_id === null ? [] : [{ ...one, segment_id: eligible_segment_id }],
      ),
    );
    const rates = counted.map(({ one, template }) => this.#readRates(one, template));
    const budgets = locks_budgets ? this.lockBudgets(counted.map(({ one }) => one)) : undefined;
    await Promise.allSettled([counting, members, ...rates, budgets]);
    const counts = await counting;
    counted.forEach(({ one }, i) => this.#counts.set(one.grant_id, counts[i] ?? NO_GRANTS));
    this.#members = await members;
    await budgets;
  }

  /** Locks the budgets of the templates, which are those that exist. */
  async lockBudgets(asked: readonly AskedGrant[]): Promise<void> {
    this.used = await lockBudgets(this.#tx, distinct(asked));
  }

  async #readConfigs(asked: readonly AskedGrant[]): Promise<void> {
    for (const tenant_id of new Set(asked.map((one) => one.tenant_id))) {
      const config = await readTenantConfig(this.#tx, tenant_id);
      this.#configs.set(tenant_id, { config, rules: licenceRulesOf(config, this.#now) });
    }
  }

  /** Starts to read the rates and, in them, what the rules of the licence compare; both are awaited by `check`. */
  async #readRates(one: AskedGrant, template: BonusTemplateRow): Promise<void> {
    const { tenant_id } = one;
    const terms = this.#termsOf(template);
    if (terms instanceof ApiError) return;
    const currency = one.currency_override ?? terms.config.currency;
    const rules = this.#configs.get(tenant_id)?.rules ?? [];
    const values = once(this.#values, `${tenant_id} ${currency}`, () =>
      valuesInCurrencies(this.#tx, tenant_id, { currency, currencies: currenciesOf(rules), now: this.#now }),
    );
    await Promise.allSettled([values, this.#ratesOf(one, terms)]);
  }

  /** The terms of a template, read once; an error concerns only the grants of this template. */
  #termsOf(template: BonusTemplateRow): BonusTerms | ApiError {
    const known = this.#terms.get(template.template_id) ?? termsOrError(template);
    this.#terms.set(template.template_id, known);
    return known;
  }

  #ratesOf({ tenant_id, currency_override }: AskedGrant, terms: BonusTerms): Promise<GrantRates> {
    const own = terms.config.currency;
    return once(this.#rates, `${tenant_id} ${own} ${currency_override ?? ''}`, () =>
      readGrantRates(this.#tx, tenant_id, own, currency_override, this.#now),
    );
  }

  /**
   * Third: rejects with what POST would answer, but for the budget and the platform. Without a loss all is checked that
   * needs no amount.
   */
  async check(asked: AskedGrant): Promise<CheckedGrant> {
    const now = this.#now;
    const { tenant_id, project_id, grant_id, player_id } = asked;
    const tenant = this.#configs.get(tenant_id);
    if (tenant === undefined) throw new Error(`the configuration of tenant ${tenant_id} was not read`);
    const { config, rules } = tenant;
    requireRunning(config);
    const template = requireLiveRow(BONUS_TEMPLATE, asked, this.#templates.get(asked.template_id));
    requireActive(template);
    const player = this.#players.get(player_id);
    if (player === undefined || player.deleted_at !== null) throw playerNotFound(player_id);
    const terms = this.#termsOf(template);
    if (terms instanceof ApiError) throw terms;
    const rates = await this.#ratesOf(asked, terms);
    const worth = asked.is_loss_behind === true ? undefined : worthOrRefusal(terms, rates, asked);
    const counts = this.#counts.get(grant_id) ?? NO_GRANTS;
    const is_member = (segment_id: string) => this.#members.has(`${segment_id} ${player_id}`);
    let warnings: readonly LicenceWarning[] = [];
    await requireEligible({ player, template, counts, config, is_member, now }, async () => {
      if (worth === undefined) return;
      // What protects the player, which the gate has asked, is the reason before a cashback of nothing.
      if (worth instanceof ApiError) throw worth;
      const value_in = await this.#values.get(`${tenant_id} ${rates.currency}`);
      warnings = refuseByLicence(rules, value_in?.(worth.amounts.bonus_amount) ?? {}, {
        terms: worth.terms,
        amounts: worth.amounts,
        qualifying_product: asked.qualifying_product,
        is_amount_changed: asked.amount_override !== null,
        player,
        bonuses_before: counts.ever,
        now,
      });
    });
    requirePlace(template, counts);
    // A request that is refused anyway gets the refusal at once, and is not repeated.
    if (worth === undefined) throw lossBehind();
    if (worth instanceof ApiError) throw worth;
    const platform = asked.platform ?? this.#platformOf(project_id);
    const no_platform = platform instanceof ApiError ? platform : undefined;
    const intent = newGrantOf({
      project: projectRefOf(asked),
      request: asked,
      template,
      player,
      worth,
      counts,
      now,
      platform: platform instanceof ApiError ? { slug: '' } : platform,
      is_attempted: asked.is_attempted,
    });
    return { asked, template, intent, warnings, no_platform };
  }

  #platformOf(project_id: string): { slug: string } | ApiError {
    const slug = this.#slugs.get(project_id);
    return slug === undefined || slug === null ? noActiveAdapter() : { slug };
  }
}

/** 503: the caller asks again. */
function lossBehind(): ApiError {
  const message = "ClickHouse does not have all of the player's bets yet, of which the cashback is";
  return new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: 1 });
}

/** The worth, or why the player has nothing to get, which belongs to the gate. Throws what is wrong with the request or the terms. */
function worthOrRefusal(terms: BonusTerms, rates: GrantRates, asked: AskedGrant): Worth | ApiError {
  try {
    return worthOf(terms, rates, asked);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'BONUS_PLAYER_NOT_ELIGIBLE') return error;
    throw error;
  }
}

function termsOrError(template: BonusTemplateRow): BonusTerms | ApiError {
  try {
    return termsOf(template);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** One of each template. */
function distinct(asked: readonly AskedGrant[]): AskedGrant[] {
  return [...new Map(asked.map((one) => [one.template_id, one])).values()];
}

function once<T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const reading = known.get(key) ?? read();
  known.set(key, reading);
  return reading;
}
