import { ApiError } from '../../errors.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { checkPlan, requireStatus } from './change.ts';
import { decideMembers, type Decision } from './decide-members.ts';
import { DECIDE_BATCH, FACTS_BATCH } from './issue.ts';
import { factsOf, needsFacts, type FactsDeps } from './member-facts.ts';
import type { BonusCampaignRef } from './queries.ts';
import { findBonusCampaign } from './read.ts';
import { readUsed } from './reserve-queries.ts';
import { Room } from './room.ts';
import { loadIssueTerms, type IssueTerms, type MemberFacts } from './terms-of-issue.ts';
import { selectMemberIds } from './work-queries.ts';

/** What issuing a campaign would come to. */
export interface DryRun {
  members: number;
  would_grant: number;
  skips: Record<string, number>;
  cost_base: bigint;
}

/** How long a dry run may take: enough for a million members. It keeps no connection between its pages. */
export const DRY_RUN_MS = 180_000;
/** Dry runs of a process at once: a place of the endpoint's lane remains for campaigns that are issued. */
const MAX_RUNNING = 2;
const RETRY_AFTER_S = 5;

/**
 * The dry runs of a process: few at once, and one of each tenant. Those beyond are refused and do not wait, because they
 * would wait in the places of the endpoint.
 */
export class DryRuns {
  readonly #deps: FactsDeps;
  readonly #limit_ms: number;
  /** The tenants of which one runs. */
  readonly #running = new Set<string>();

  constructor(deps: FactsDeps, limit_ms = DRY_RUN_MS) {
    this.#deps = deps;
    this.#limit_ms = limit_ms;
  }

  /**
   * What issuing the campaign now would come to; writes nothing. Members are decided a page at a time, each in a
   * transaction of its own. Rejects as `startIssue` does, but needs no `max_liability`; with SERVICE_UNAVAILABLE when too
   * many run, when it is not done in time, or when `stop` is aborted.
   */
  async run(ref: BonusCampaignRef, stop: AbortSignal): Promise<DryRun> {
    const { tenant_id } = ref;
    if (this.#running.has(tenant_id)) throw refused('a dry run of this tenant is running');
    if (this.#running.size >= MAX_RUNNING) throw refused(`${MAX_RUNNING} dry runs are running`);
    this.#running.add(tenant_id);
    try {
      return await dryRun(this.#deps, ref, { stop, until_ms: performance.now() + this.#limit_ms });
    } catch (error) {
      if (!stop.aborted) throw error;
      throw new ApiError('SERVICE_UNAVAILABLE', 'the dry run was ended: nobody waits for it', {
        cause: error,
      });
    } finally {
      this.#running.delete(tenant_id);
    }
  }
}

function refused(why: string): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', `${why}; try again when it has ended`, {
    retry_after_s: RETRY_AFTER_S,
  });
}

/** `until_ms` is of the process's monotonic clock. */
interface Limits {
  stop: AbortSignal;
  until_ms: number;
}

function requireTime({ stop, until_ms }: Limits, { members }: DryRun): void {
  stop.throwIfAborted();
  if (performance.now() < until_ms) return;
  const message = `the dry run took too long: it had decided about ${members} members when its time was over`;
  throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: RETRY_AFTER_S });
}

async function dryRun(deps: FactsDeps, ref: BonusCampaignRef, limits: Limits): Promise<DryRun> {
  const { postgres, clock } = deps;
  const { tenant_id } = ref;
  const now = new Date(clock.now_ms());
  const campaign = await findBonusCampaign(postgres, ref);
  requireStatus(campaign, ['draft', 'scheduled'], 'issued');
  const { terms, room } = await postgres.asTenant(tenant_id, async (tx) => {
    const { template, issued_product } = await checkPlan(tx, ref, campaign, now);
    const loaded = await loadIssueTerms(tx, { ...campaign, issued_product }, now);
    return { terms: loaded, room: new Room(template, campaign, await readUsed(tx, campaign)) };
  });
  const limit = needsFacts(terms) ? FACTS_BATCH : DECIDE_BATCH;
  const result: DryRun = { members: 0, would_grant: 0, skips: {}, cost_base: 0n };
  for (let after = NIL_ID; ;) {
    requireTime(limits, result);
    const found = await postgres.asTenant(tenant_id, (tx) => selectMemberIds(tx, campaign, after, limit));
    if (found.length === 0) return result;
    const { ids, facts } = await known(deps, terms, found, limits.stop);
    const decisions = await postgres.asTenant(tenant_id, (tx) => decideMembers(tx, terms, ids, facts));
    for (const one of decisions) addDecision(result, one, room);
    if (ids.length === found.length && found.length < limit) return result;
    after = ids.at(-1) ?? after;
  }
}

/** Counts what a decision comes to, of which the room takes what fits. */
function addDecision(result: DryRun, one: Decision, room: Room): void {
  const skip = ({ length }: readonly unknown[], code: string) => {
    if (length > 0) result.skips[code] = (result.skips[code] ?? 0) + length;
  };
  if (one.kind === 'skip') {
    result.members += one.player_ids.length;
    skip(one.player_ids, one.code);
    return;
  }
  const cost_base = one.worth.bonus_amount_base;
  const { granted, held_out, short } = room.takeDrawn(cost_base, one.members);
  result.members += one.members.length;
  for (const { player_ids, code } of held_out) skip(player_ids, code);
  skip(short, 'BUDGET');
  result.would_grant += granted.length;
  result.cost_base += cost_base * BigInt(granted.length);
}

/** The first of these members that can be decided about now: a member who was not asked about in time is in the next page. */
async function known(
  deps: FactsDeps,
  terms: IssueTerms,
  found: readonly string[],
  stop: AbortSignal,
): Promise<{ ids: readonly string[]; facts: ReadonlyMap<string, MemberFacts> }> {
  if (!needsFacts(terms)) return { ids: found, facts: new Map() };
  const facts = await factsOf(deps, terms, found, stop);
  const missing = found.findIndex((player_id) => !facts.has(player_id));
  return { ids: missing < 0 ? found : found.slice(0, missing), facts };
}
