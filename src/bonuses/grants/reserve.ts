import { ApiError, type ErrorCode } from '../../errors.ts';
import { requireLiveRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { playerNotFound } from '../../players/profile/read.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { licenceRulesOf } from '../../tenants/config/bonus-settings.ts';
import { readTenantConfig, type TenantConfig } from '../../tenants/config/read.ts';
import { SANDBOX_SLUG } from '../adapters/platform.ts';
import { noActiveAdapter } from '../adapters/platforms.ts';
import { selectActiveSlugs } from '../adapters/queries.ts';
import { currenciesOf } from '../licence/effective.ts';
import type { ValueIn } from '../licence/facts.ts';
import type { LicenceRule, RuleProduct } from '../licence/rule.ts';
import { valuesInCurrencies } from '../templates/licence-check.ts';
import { selectBonusTemplates, type BonusTemplateRow, type LicenceWarning } from '../templates/queries.ts';
import { BONUS_TEMPLATE } from '../templates/read.ts';
import { termsOf } from '../templates/terms.ts';
import { insertHistory } from './apply-queries.ts';
import { requireEligible } from './eligibility.ts';
import { refuseByLicence } from './grant-licence.ts';
import type { GrantedByKind } from './grant-row.ts';
import {
  budgetExceeded,
  countedFor,
  newGrantOf,
  NO_GRANTS,
  requestedOf,
  requireActive,
  requirePlace,
  requireRunning,
} from './issue.ts';
import {
  countGrants,
  insertGrants,
  type GrantCounts,
  type GrantPlayer,
  type NewGrant,
} from './issue-queries.ts';
import {
  lockBudgets,
  lockGrantPlayers,
  selectExisting,
  selectMembers,
  setBudgets,
} from './reserve-queries.ts';
import { readGrantRates, worthOf, type GrantRates } from './worth.ts';

/** A grant that the service itself makes, in the template's currency. Its id makes it happen once. */
export interface Reservation extends PlayerRef {
  grant_id: string;
  template_id: string;
  granted_by_kind: GrantedByKind;
  granted_by_id: string;
  /** In the smallest unit of the template's currency. */
  deposit_amount: bigint | null;
  /** What was lost in the window of a cashback, or staked, in the smallest unit of the base currency. */
  loss_base?: bigint;
  /** What the player did to get the bonus; null: nothing that is a bet. */
  qualifying_product: RuleProduct | null;
}

/** Why a grant was not made: the code of POST /v1/bonus-grants, and `details.reason` where it has one. */
export interface Refusal {
  code: ErrorCode;
  reason: string | undefined;
  /** The licence rule that forbids it, and the trait of the player that is not known, where that is why. */
  rule_id?: string;
  missing_trait?: string;
}

/** A grant that passed its checks. */
interface Wanted {
  intent: NewGrant;
  template: BonusTemplateRow;
  warnings: readonly LicenceWarning[];
}

/**
 * Stores the intents of many grants in the caller's transaction, with the checks of a single grant in the same order;
 * the sender sends them. The statements are the same few for all. Returns those that were refused, by grant_id; one that
 * exists already stays as it is, and is none of them.
 *
 * Locks players, then their grants, then the budgets of the templates, each in the order of their ids; so a grant by
 * another transaction waits, and what is counted here stays true.
 */
export async function reserveGrants(
  tx: Tx,
  clock: Clock,
  asked: readonly Reservation[],
): Promise<ReadonlyMap<string, Refusal>> {
  const refused = new Map<string, Refusal>();
  // What a player is granted first counts for the next one.
  for (let open = asked; open.length > 0;) {
    const now_of = new Map<string, Reservation>();
    const later: Reservation[] = [];
    for (const one of open) {
      if (now_of.has(one.player_id)) later.push(one);
      else now_of.set(one.player_id, one);
    }
    for (const [id, refusal] of await reserveOnePerPlayer(tx, clock, [...now_of.values()])) {
      refused.set(id, refusal);
    }
    open = later;
  }
  return refused;
}

async function reserveOnePerPlayer(
  tx: Tx,
  clock: Clock,
  asked: readonly Reservation[],
): Promise<Map<string, Refusal>> {
  const now = new Date(clock.now_ms());
  const refused = new Map<string, Refusal>();
  const known = new Known(tx, now);
  await known.read(asked);
  const wanted: Wanted[] = [];
  for (const one of asked) {
    if (known.existing.has(one.grant_id)) continue;
    try {
      wanted.push(await known.check(one));
    } catch (error) {
      refused.set(one.grant_id, refusalOf(error));
    }
  }
  const { taken, refused: too_dear } = await takeBudgets(tx, wanted);
  for (const [id, refusal] of too_dear) refused.set(id, refusal);
  await insertGrants(
    tx,
    taken.map(({ intent }) => intent),
  );
  await insertHistory(
    tx,
    taken.map(({ intent, warnings }) => requestedOf(intent, warnings)),
  );
  return refused;
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ApiError)) throw error;
  const { code, details } = error;
  const textOf = (name: string) => (typeof details?.[name] === 'string' ? details[name] : undefined);
  const [rule_id, missing_trait] = [textOf('rule_id'), textOf('missing_trait')];
  return {
    code,
    reason: textOf('reason'),
    ...(rule_id === undefined ? {} : { rule_id }),
    ...(missing_trait === undefined ? {} : { missing_trait }),
  };
}

/** Takes the grants' worth of the budgets, in their order, as far as it is left. */
async function takeBudgets(
  tx: Tx,
  wanted: readonly Wanted[],
): Promise<{ taken: Wanted[]; refused: Map<string, Refusal> }> {
  const [taken, refused] = [[] as Wanted[], new Map<string, Refusal>()];
  const refs = new Map(wanted.map(({ intent }) => [intent.template_id, intent]));
  if (refs.size === 0) return { taken, refused };
  const used = await lockBudgets(tx, [...refs.values()]);
  for (const one of wanted) {
    const { intent, template } = one;
    const used_base = (used.get(intent.template_id) ?? 0n) + intent.bonus_amount_base;
    if (template.budget_base !== null && used_base > template.budget_base) {
      refused.set(intent.grant_id, refusalOf(budgetExceeded(template, intent)));
      continue;
    }
    used.set(intent.template_id, used_base);
    taken.push(one);
  }
  await setBudgets(
    tx,
    [...refs.values()].map((ref) => ({ ...ref, used_base: used.get(ref.template_id) ?? 0n })),
  );
  return { taken, refused };
}

/** What the checks of many grants read, each thing once. */
class Known {
  readonly #tx: Tx;
  readonly #now: Date;
  existing: ReadonlySet<string> = new Set();
  readonly #templates = new Map<string, BonusTemplateRow>();
  readonly #players = new Map<string, GrantPlayer>();
  readonly #configs = new Map<string, { config: TenantConfig; rules: readonly LicenceRule[] }>();
  /** By project; null: it has adapters, and none is active. */
  #slugs: ReadonlyMap<string, string | null> = new Map();
  readonly #counts = new Map<string, GrantCounts>();
  #members: ReadonlySet<string> = new Set();
  readonly #rates = new Map<string, Promise<GrantRates>>();
  readonly #values = new Map<string, Promise<(amount: bigint) => Record<string, ValueIn | undefined>>>();

  constructor(tx: Tx, now: Date) {
    this.#tx = tx;
    this.#now = now;
  }

  async read(asked: readonly Reservation[]): Promise<void> {
    const tx = this.#tx;
    const projects = [...new Map(asked.map((one) => [one.project_id, projectRefOf(one)])).values()];
    const [players, existing, templates, slugs] = await Promise.all([
      lockGrantPlayers(tx, asked),
      selectExisting(tx, asked),
      selectBonusTemplates(tx, asked),
      selectActiveSlugs(tx, projects),
      this.#readConfigs(asked),
    ]);
    this.existing = existing;
    for (const player of players) this.#players.set(player.player_id, player);
    for (const template of templates) this.#templates.set(template.template_id, template);
    this.#slugs = new Map(
      slugs.map(({ project_id, slug, has_adapters }) => [
        project_id,
        slug ?? (has_adapters ? null : SANDBOX_SLUG),
      ]),
    );
    const counted = asked.flatMap((one) => {
      const template = this.#templates.get(one.template_id);
      return template === undefined ? [] : [{ one, template }];
    });
    const [counts, members] = await Promise.all([
      countGrants(
        tx,
        counted.map(({ one, template }) => countedFor(one, template, this.#now)),
      ),
      selectMembers(
        tx,
        counted.flatMap(({ one, template: { eligible_segment_id } }) =>
          eligible_segment_id === null ? [] : [{ ...one, segment_id: eligible_segment_id }],
        ),
      ),
    ]);
    counted.forEach(({ one }, i) => this.#counts.set(one.grant_id, counts[i] ?? NO_GRANTS));
    this.#members = members;
  }

  async #readConfigs(asked: readonly Reservation[]): Promise<void> {
    for (const tenant_id of new Set(asked.map((one) => one.tenant_id))) {
      const config = await readTenantConfig(this.#tx, tenant_id);
      this.#configs.set(tenant_id, { config, rules: licenceRulesOf(config, this.#now) });
    }
  }

  /** Rejects with what POST would answer. */
  async check(one: Reservation): Promise<Wanted> {
    const now = this.#now;
    const { tenant_id, project_id, grant_id, player_id } = one;
    const tenant = this.#configs.get(tenant_id);
    if (tenant === undefined) throw new Error(`the configuration of tenant ${tenant_id} was not read`);
    const { config, rules } = tenant;
    requireRunning(config);
    const template = requireLiveRow(BONUS_TEMPLATE, one, this.#templates.get(one.template_id));
    requireActive(template);
    const player = this.#players.get(player_id);
    if (player === undefined || player.deleted_at !== null) throw playerNotFound(player_id);
    const terms = termsOf(template);
    const rates = await this.#ratesOf(tenant_id, terms.config.currency);
    const worth = worthOf(terms, rates, { amount_override: null, ...one });
    const counts = this.#counts.get(grant_id) ?? NO_GRANTS;
    const is_member = (segment_id: string) => this.#members.has(`${segment_id} ${player_id}`);
    const valueIn = await this.#valuesOf(tenant_id, rates.currency, rules);
    let warnings: readonly LicenceWarning[] = [];
    await requireEligible({ player, template, counts, config, is_member, now }, () => {
      warnings = refuseByLicence(rules, valueIn(worth.amounts.bonus_amount), {
        terms: worth.terms,
        amounts: worth.amounts,
        qualifying_product: one.qualifying_product,
        is_amount_changed: false,
        player,
        bonuses_before: counts.ever,
        now,
      });
    });
    requirePlace(template, counts);
    const slug = this.#slugs.get(project_id);
    if (slug === undefined || slug === null) throw noActiveAdapter();
    const intent = newGrantOf({
      project: projectRefOf(one),
      request: { ...one, granted_by_user: null },
      template,
      player,
      worth,
      counts,
      now,
      platform: { slug },
      is_attempted: false,
    });
    return { intent, template, warnings };
  }

  #ratesOf(tenant_id: string, currency: string): Promise<GrantRates> {
    return once(this.#rates, `${tenant_id} ${currency}`, () =>
      readGrantRates(this.#tx, tenant_id, currency, null, this.#now),
    );
  }

  #valuesOf(tenant_id: string, currency: string, rules: readonly LicenceRule[]) {
    return once(this.#values, `${tenant_id} ${currency}`, () =>
      valuesInCurrencies(this.#tx, tenant_id, { currency, currencies: currenciesOf(rules), now: this.#now }),
    );
  }
}

function once<T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const reading = known.get(key) ?? read();
  known.set(key, reading);
  return reading;
}
