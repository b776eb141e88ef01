import { ApiError } from '../../errors.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { bonusSettingsOf } from '../../tenants/config/read.ts';
import type { Platforms } from '../../adapters/platforms.ts';
import { platformOf } from '../grants/create.ts';
import { selectBonusTemplate } from '../templates/queries.ts';
import { DECIDE_BATCH } from './issue.ts';
import { factsOf, needsFacts, readyMembers, waitForFacts, type FactsDeps } from './member-facts.ts';
import type { BonusCampaignRow } from './queries.ts';
import { selectPending } from './reserve-queries.ts';
import { reserveMembers } from './reserve.ts';
import { loadIssueTerms, type MemberFacts } from './terms-of-issue.ts';
import { lockPart } from './work-queries.ts';

/** The parts of the platform that deciding uses. */
export interface DecideDeps extends FactsDeps {
  platforms: Platforms;
}

/** Where the look for pending members goes on: so that index entries of those who were decided are not read again. */
export interface Cursor {
  after: string;
}

/**
 * Decides about the next pending members of a campaign, or about `only` this one; returns how many. Nothing is decided
 * while the tenant's bonuses are paused. Rejects with the errors of the template, its rates or the platform, and with
 * NotCaughtUp while ClickHouse has not all events that the decisions need: the members stay pending. So do those whose events
 * are still to be corrected.
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
  const isAnyPending = async () =>
    (await selectPending(postgres.service, campaign, { limit: 1, only, ...cursor })).length > 0;
  if (!(await isAnyPending())) {
    // Some may be missing, because another transaction held them.
    if (cursor.after === NIL_ID) return 0;
    cursor.after = NIL_ID;
    if (!(await isAnyPending())) return 0;
  }
  const platform = await platformOf(deps.platforms, campaign);
  if (platform instanceof ApiError) throw platform;
  const now = new Date(clock.now_ms());
  const asked = await readFacts(deps, campaign, { only, stop, after: cursor.after, now });
  if (asked === 'paused') return 0;
  let last: string | undefined;
  const decided = await retryConflicts(() =>
    postgres.service.begin(async (tx) => {
      last = undefined;
      const locked = await lockPart(tx, campaign, 'decisions', only !== undefined);
      if (locked === undefined) return 0;
      const terms = await loadIssueTerms(tx, locked, now);
      if (bonusSettingsOf(terms.config).paused) return 0;
      const { facts } = asked;
      const found = await selectPending(tx, locked, { limit: DECIDE_BATCH, only, ...cursor });
      const ids = facts === undefined ? found : found.filter((id) => facts.has(id));
      last = ids.at(-1);
      if (ids.length === 0) return 0;
      return reserveMembers(tx, terms, ids, { facts: facts ?? new Map<string, MemberFacts>(), platform });
    }),
  );
  if (last !== undefined) cursor.after = last;
  return decided;
}

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
