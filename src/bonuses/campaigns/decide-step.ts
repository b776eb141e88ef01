import { ApiError } from '../../errors.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { bonusSettingsOf } from '../../tenants/config/read.ts';
import type { Platforms } from '../../adapters/platforms.ts';
import { platformOf } from '../grants/create.ts';
import { selectBonusTemplate } from '../templates/queries.ts';
import { selectIsWaiting } from './daily-budget-queries.ts';
import { DECIDE_BATCH } from './issue.ts';
import { factsOf, needsFacts, readyMembers, waitForFacts, type FactsDeps } from './member-facts.ts';
import type { BonusCampaignRow } from './queries.ts';
import { selectPending } from './reserve-queries.ts';
import { reserveMembers, type Reserved } from './reserve.ts';
import { loadIssueTerms, type MemberFacts } from './terms-of-issue.ts';
import { lockPart } from './work-queries.ts';

/** The parts of the platform that deciding uses. */
export interface DecideDeps extends FactsDeps {
  platforms: Platforms;
}

/** Where the look for pending members goes on: so that index entries of those who were decided are not read again. */
export interface Cursor {
  after: string;
  /** Members found no room in the day's budget since the look began. */
  waiting?: {
    /** What the cheapest of them costs, in the smallest unit of the base currency. */
    cost_base: bigint;
    /** Nobody is looked at any more. */
    is_over: boolean;
  };
}

/**
 * Decides about the next pending members of a campaign, or about `only` this one; returns how many it got on with. Nothing is decided
 * while the tenant's bonuses are paused. Rejects with the errors of the template, its rates or the platform, and with
 * NotCaughtUp while ClickHouse has not all events that the decisions need: the members stay pending. So do those whose events
 * are still to be corrected, and those who wait for the daily budget: one look goes over them once, and only as long as it is
 * worth while to find others who cost less.
 */
export async function decideStep(
  deps: DecideDeps,
  campaign: BonusCampaignRow,
  {
    only,
    stop,
    cursor = { after: NIL_ID },
  }: { only?: string; stop?: AbortSignal | undefined; cursor?: Cursor } = {},
): Promise<number> {
  const { postgres, clock } = deps;
  const is_of_all = only === undefined && campaign.daily_budget_base !== null;
  if (is_of_all) {
    if (cursor.waiting?.is_over === true) return 0;
    if (await selectIsWaiting(postgres.service, campaign, new Date(clock.now_ms()))) return 0;
  }
  const isAnyPending = async () =>
    (await selectPending(postgres.service, campaign, { limit: 1, only, ...cursor })).length > 0;
  if (!(await isAnyPending())) {
    // Some may be missing, because another transaction held them.
    if (cursor.waiting !== undefined) cursor.waiting.is_over = true;
    if (cursor.after === NIL_ID || cursor.waiting !== undefined) return 0;
    cursor.after = NIL_ID;
    if (!(await isAnyPending())) return 0;
  }
  const platform = await platformOf(deps.platforms, campaign);
  if (platform instanceof ApiError) throw platform;
  const now = new Date(clock.now_ms());
  const asked = await readFacts(deps, campaign, { only, stop, after: cursor.after, now });
  if (asked === 'paused') return 0;
  let last: string | undefined;
  const { decided, waiting } = await retryConflicts(() =>
    postgres.service.begin(async (tx) => {
      last = undefined;
      const locked = await lockPart(tx, campaign, 'decisions', only !== undefined);
      if (locked === undefined) return NOBODY;
      const terms = await loadIssueTerms(tx, locked, now);
      if (bonusSettingsOf(terms.config).paused) return NOBODY;
      const { facts } = asked;
      const found = await selectPending(tx, locked, { limit: DECIDE_BATCH, only, ...cursor });
      const ids = facts === undefined ? found : found.filter((id) => facts.has(id));
      last = ids.at(-1);
      if (ids.length === 0) return NOBODY;
      return reserveMembers(tx, terms, ids, { facts: facts ?? new Map<string, MemberFacts>(), platform });
    }),
  );
  if (last !== undefined) cursor.after = last;
  if (waiting === null) return decided;
  const { cost_base, is_nearly_used: is_over } = waiting;
  const least_base = cursor.waiting?.cost_base ?? cost_base;
  cursor.waiting = { cost_base: cost_base < least_base ? cost_base : least_base, is_over };
  return decided + (is_over ? 0 : waiting.members);
}

const NOBODY: Reserved = { decided: 0, waiting: null };

/** What is known of members from their events. `facts` undefined: the campaign needs none, so more are decided at once. */
interface Asked {
  facts: ReadonlyMap<string, MemberFacts> | undefined;
}

/** Asks about the next pending members, outside of a transaction. */
async function readFacts(
  deps: DecideDeps,
  campaign: BonusCampaignRow,
  {
    now,
    stop,
    ...which
  }: { only: string | undefined; stop: AbortSignal | undefined; after: string; now: Date },
): Promise<Asked | 'paused'> {
  const { service } = deps.postgres;
  const [template] = await selectBonusTemplate(service, campaign);
  // One that is gone is an error of the decisions.
  if (template === undefined || !needsFacts({ campaign, template })) {
    return { facts: undefined };
  }
  const terms = await service.begin((tx) => loadIssueTerms(tx, campaign, now));
  if (bonusSettingsOf(terms.config).paused) return 'paused';
  await waitForFacts(deps, stop);
  const found = await selectPending(service, campaign, { limit: DECIDE_BATCH, ...which });
  const ready = await readyMembers(deps, terms, found);
  return { facts: await factsOf(deps, terms, ready, stop) };
}
