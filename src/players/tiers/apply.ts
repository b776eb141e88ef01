import type { Tx } from '../../platform/postgres/port.ts';
import {
  insertHistory,
  lockPlayersAndTotals,
  selectFacts,
  writeDeadlines,
  writeStates,
  type Deadline,
  type HistoryEntry,
  type PlayerFacts,
  type TierWrite,
} from './player-tier-queries.ts';
import { readTierRules } from './tier-rules.ts';
import { recompute, type TierContext, type TierDecision, type TierRule } from './recompute.ts';
import { exactJson } from '../../platform/exact-json.ts';

/** A player of a tenant. */
export interface TenantPlayer {
  project_id: string;
  player_id: string;
}

/** What became of one player. */
export interface TierOutcome {
  before: PlayerFacts;
  /** One decision; two when a tier was reset and a higher one was earned. The last one holds. */
  decisions: readonly [TierDecision, ...TierDecision[]];
}

/** What the rules decide of a player, one decision or two. */
type Decide = (before: PlayerFacts, rules: readonly TierRule[], now_ms: number) => TierOutcome['decisions'];

/**
 * Computes the tiers of these players, each named once, by the rules, and writes what changed: tier, history and
 * deadline, under the locks of their rows. Every caller uses it: the API, the queue of tier requests, the daily sweep, and,
 * with `decideResets`, the look at all players after a change of tiers. Players that do not exist any more are omitted from
 * the result. The caller's transaction holds the locks until it ends, so it names a few hundred players at most.
 */
export async function recomputePlayers(
  tx: Tx,
  tenant_id: string,
  players: readonly TenantPlayer[],
  now_ms: number,
  decide: Decide = decideAll,
): Promise<TierOutcome[]> {
  if (players.length === 0) return [];
  const [, facts, { tiers: rules }] = await Promise.all([
    lockPlayersAndTotals(tx, tenant_id, players),
    selectFacts(tx, tenant_id, players),
    readTierRules(tx, tenant_id, new Date(now_ms)),
  ]);
  const outcomes = facts.map((before) => ({ before, decisions: decide(before, rules, now_ms) }));
  const found = new Set(facts.map(({ player_id }) => player_id));
  const gone = players.filter(({ player_id }) => !found.has(player_id));
  await Promise.all([
    writeStates(tx, tenant_id, outcomes.flatMap(writeOf), new Date(now_ms)),
    insertHistory(tx, tenant_id, outcomes.flatMap(entriesOf), new Date(now_ms)),
    writeDeadlines(tx, tenant_id, [
      ...outcomes.flatMap((outcome) => deadlineOf(outcome, now_ms)),
      ...gone.map((player) => ({ ...player, due_ms: null })),
    ]),
  ]);
  return outcomes;
}

/** Whether `decide` would have anything written of the player. */
export function wouldChange(
  facts: PlayerFacts,
  rules: readonly TierRule[],
  now_ms: number,
  decide: Decide,
): boolean {
  const outcome = { before: facts, decisions: decide(facts, rules, now_ms) };
  return writeOf(outcome).length > 0 || deadlineOf(outcome, now_ms).length > 0;
}

/** The decision, and after a reset the one that follows: a higher tier may have been earned. */
function decideAll(
  before: PlayerFacts,
  rules: readonly TierRule[],
  now_ms: number,
): [TierDecision, ...TierDecision[]] {
  const first = recompute(before, rules, now_ms);
  if (first.change?.trigger !== 'reset') return [first];
  const { code, promoted_ms, demoted_ms, pending_code } = first;
  return [first, recompute({ ...before, code, promoted_ms, demoted_ms, pending_code }, rules, now_ms)];
}

/**
 * Only takes players off a tier that is not active any more. Players whom the rules would move otherwise are moved by the next
 * daily sweep, so an operator's mistake in a tier gives nothing to all players at once.
 */
export function decideResets(
  before: PlayerFacts,
  rules: readonly TierRule[],
  now_ms: number,
): [TierDecision] {
  const decision = recompute(before, rules, now_ms);
  if (decision.change === undefined) return [decision];
  // A tier that is not active any more does not go on waiting for checks.
  const waits = rules.some((tier) => tier.is_active && tier.code === before.pending_code);
  const pending_code = waits ? before.pending_code : null;
  if (decision.change.trigger === 'reset') return [{ ...decision, pending_code }];
  const { code, promoted_ms, demoted_ms } = before;
  return [
    { code, promoted_ms, demoted_ms, pending_code, change: undefined, reason: undefined, due_ms: now_ms },
  ];
}

/** The decision that holds. */
export function lastOf({ decisions }: TierOutcome): TierDecision {
  return decisions.at(-1) ?? decisions[0];
}

function writeOf(outcome: TierOutcome): TierWrite[] {
  const { before } = outcome;
  const { code, promoted_ms, demoted_ms, pending_code } = lastOf(outcome);
  const is_same =
    code === before.code &&
    promoted_ms === before.promoted_ms &&
    demoted_ms === before.demoted_ms &&
    pending_code === before.pending_code;
  if (is_same) return [];
  const { project_id, player_id, locked } = before;
  return [{ project_id, player_id, locked, code, promoted_ms, demoted_ms, pending_code }];
}

function entriesOf({ before, decisions }: TierOutcome): HistoryEntry[] {
  const { project_id, player_id } = before;
  let from_code = before.code;
  return decisions.flatMap(({ change, code }) => {
    if (change === undefined) return [];
    const entry = { project_id, player_id, from_code, to_code: code, trigger: change.trigger };
    from_code = code;
    return [{ ...entry, context: contextJson(change.context) }];
  });
}

/** JSON text: totals are written digit by digit, because they may exceed what a JSON number of JavaScript holds. */
function contextJson({ met, ...others }: TierContext): string {
  return exactJson({ met, ...others });
}

/**
 * A stored time before the computed one stays: when it comes, the next one is computed from what is known then. So does
 * one that has come when the player is left to the next sweep.
 */
function deadlineOf(outcome: TierOutcome, now_ms: number): Deadline[] {
  const { project_id, player_id, stored_due_ms: stored } = outcome.before;
  const { due_ms } = lastOf(outcome);
  if (due_ms === stored) return [];
  const is_ahead = due_ms !== null && stored !== null && stored <= due_ms;
  if (is_ahead && (stored > now_ms || due_ms <= now_ms)) return [];
  return [{ project_id, player_id, due_ms }];
}
