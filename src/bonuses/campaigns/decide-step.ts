import { ApiError } from '../../errors.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { bonusSettingsOf } from '../../tenants/config/bonus-settings.ts';
import type { Platforms } from '../adapters/platforms.ts';
import { platformOf } from '../grants/create.ts';
import { DECIDE_BATCH, FACTS_BATCH } from './issue.ts';
import { factsOf, needsFacts, waitForFacts, type FactsDeps } from './member-facts.ts';
import type { BonusCampaignRow } from './queries.ts';
import { selectPending } from './reserve-queries.ts';
import { reserveMembers } from './reserve.ts';
import { loadIssueTerms, type MemberFacts } from './terms-of-issue.ts';
import { lockForStep } from './work-queries.ts';

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
 * NotCaughtUp while ClickHouse has not all events that the decisions need: the members stay pending.
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
    // Some may have been left out, because another transaction held them.
    if (cursor.after === NIL_ID) return 0;
    cursor.after = NIL_ID;
    if (!(await isAnyPending())) return 0;
  }
  const platform = await platformOf(deps.platforms, campaign);
  if (platform instanceof ApiError) throw platform;
  const now = new Date(clock.now_ms());
  const before = await postgres.service.begin((tx) => loadIssueTerms(tx, campaign, now));
  if (bonusSettingsOf(before.config).paused) return 0;
  const has_facts = needsFacts(before);
  const limit = has_facts ? FACTS_BATCH : DECIDE_BATCH;
  let facts: ReadonlyMap<string, MemberFacts> = new Map();
  if (has_facts) {
    await waitForFacts(deps, stop);
    facts = await factsOf(
      deps,
      before,
      await selectPending(postgres.service, campaign, { limit, only, ...cursor }),
      stop,
    );
  }
  let last: string | undefined;
  const decided = await retryConflicts(() =>
    postgres.service.begin(async (tx) => {
      last = undefined;
      const locked = await lockForStep(tx, campaign);
      if (locked?.status !== 'issuing') return 0;
      const terms = await loadIssueTerms(tx, locked, now);
      if (bonusSettingsOf(terms.config).paused) return 0;
      const found = await selectPending(tx, locked, { limit, only, ...cursor });
      const ids = has_facts ? found.filter((id) => facts.has(id)) : found;
      last = ids.at(-1);
      return ids.length === 0 ? 0 : reserveMembers(tx, terms, ids, { facts, platform });
    }),
  );
  if (last !== undefined) cursor.after = last;
  return decided;
}
