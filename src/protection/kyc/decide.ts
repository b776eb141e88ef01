import type { KycModel } from '../../tenants/config/catalogue.ts';

/** The values of kyc_status; a check constraint of the table `players` has the same ones. Only `approved` gives rights. */
export const KYC_STATUSES = ['none', 'pending', 'approved', 'rejected', 'expired', 'revoked'] as const;
export type KycStatus = (typeof KYC_STATUSES)[number];

/**
 * What can be said about a player's KYC, in the order of equal times: what is worse for the player comes later, and so
 * holds. `lapsed`: the clock passed the end of an approval. `submitted` is not a decision: it opens a case.
 */
export const KYC_KINDS = [
  'submitted',
  'approved',
  'level_upgraded',
  'lapsed',
  'expired',
  'rejected',
  'revoked',
] as const;
export type KycKind = (typeof KYC_KINDS)[number];

/** One statement about a player's KYC (bonuses part 8), from any source. */
export interface KycDecision {
  kind: KycKind;
  /** The time by which decisions are ordered. */
  at_ms: number;
  /** Of an approval: the level reached; else the level in question. Null: not said. */
  level: number | null;
  /** Until when an approval or an upgrade holds. Null: not said. */
  expires_at_ms: number | null;
}

/** How far ahead of its receipt a platform's or a customer's clock may put a statement. */
const MAX_AHEAD_MS = 300_000;

/**
 * The time by which a statement from elsewhere is ordered: the one it gives, at most 300 s after it was received. Cut at
 * the receipt, of two statements by a clock that is a little ahead the one that arrived later would hold; not cut at all,
 * one clock that is wrong would silence everybody else for as long as it is ahead.
 */
export function orderedAt(given_ms: number, received_at_ms: number): number {
  return Math.min(given_ms, received_at_ms + MAX_AHEAD_MS);
}

/** What the statements about a player come to. */
export interface KycState<D extends KycDecision = KycDecision> {
  status: KycStatus;
  /** The last approved level. */
  level: number;
  /** The level that is being asked for. */
  requested_level: number | null;
  /** When the approval ends. */
  expires_at_ms: number | null;
  /** The decision that the order of later ones is judged by. */
  last: D | null;
}

/** The outcome of one more statement. */
export interface KycVerdict<D extends KycDecision = KycDecision> {
  /**
   * False: it is older than the last decision (or of its time, and better for the player) and changes no right. It may
   * still tell which level was approved last.
   */
  applied: boolean;
  state: KycState<D>;
}

/**
 * What all statements about a player come to. It depends on their set alone, not on the order in which they arrived or
 * on repeats: they are taken by time. It is computed from those that can still matter (`relevantOf`). Where they are cut
 * off, what is not seen gives no right: only an approval among those that are seen does, and every refusal counts.
 */
export function stateOf<D extends KycDecision>(decisions: readonly D[]): KycState<D> {
  const { approval, decided, submitted, is_cut } = partsOf(decisions);
  const state: KycState<D> = {
    status: 'none',
    level: 0,
    requested_level: null,
    expires_at_ms: null,
    last: null,
  };
  if (approval !== undefined) take(state, approval, is_cut);
  if (approval !== undefined && is_cut) Object.assign(state, { status: 'expired', expires_at_ms: null });
  const rest = submitted === undefined ? decided : [...decided, submitted].toSorted(compare);
  for (const decision of rest) take(state, decision, is_cut);
  return state;
}

/** The rule for one more statement in addition to those that are known, for every source. */
export function decide<D extends KycDecision>(known: readonly D[], next: D): KycVerdict<D> {
  const before = stateOf(known);
  const state = stateOf([...known, next]);
  const is_older = before.last !== null && compare(next, before.last) < 0;
  return { applied: !is_older || !isSame(before, state), state };
}

/**
 * The decision of the clock where the approval of `state` has ended at `now_ms`. Its time is that end, so an approval that
 * arrives later and holds longer still counts; but it is not before the last decision, which may have arrived after it.
 */
export function lapseOf({ status, expires_at_ms, last }: KycState, now_ms: number): KycDecision | undefined {
  if (status !== 'approved' || expires_at_ms === null || expires_at_ms > now_ms) return undefined;
  const at_ms = Math.max(expires_at_ms, last?.at_ms ?? expires_at_ms);
  return { kind: 'lapsed', at_ms, level: null, expires_at_ms: null };
}

/**
 * Decisions after the latest approval with a level that are looked at. Nobody makes so many by good means; with more, the
 * approval is void until there is a new one.
 */
export const MAX_RELEVANT = 300;

/**
 * Those that can still matter, by time, and not more than can be looked at: the latest approval with a level, the
 * decisions after it, and the last submission. A submission before another one cannot matter: it opens a case, and the
 * later one says what is asked for. One decision more than {@link MAX_RELEVANT} is kept, which says that there are more.
 */
export function relevantOf<D extends KycDecision>(decisions: readonly D[]): D[] {
  const { approval, decided, submitted } = partsOf(decisions);
  return [approval, ...decided, submitted].filter((one) => one !== undefined).toSorted(compare);
}

interface Parts<D> {
  /** The latest with a level. */
  approval: D | undefined;
  /** The decisions after it, by time; the last {@link MAX_RELEVANT} + 1 of them. */
  decided: D[];
  /** The last submission, unless it is older than the approval. */
  submitted: D | undefined;
  /** There are more decisions than are looked at. */
  is_cut: boolean;
}

function partsOf<D extends KycDecision>(decisions: readonly D[]): Parts<D> {
  const sorted = decisions.toSorted(compare);
  const at = sorted.findLastIndex(({ kind, level }) => kind === 'approved' && level !== null);
  const later = sorted.slice(at + 1);
  const decided = later.filter(({ kind }) => kind !== 'submitted').slice(-(MAX_RELEVANT + 1));
  return {
    approval: sorted[at],
    decided,
    submitted: later.findLast(({ kind }) => kind === 'submitted'),
    is_cut: decided.length > MAX_RELEVANT,
  };
}

/** Whether the two are equal in what they say. */
export function saysTheSame(a: KycDecision, b: KycDecision): boolean {
  return compare(a, b) === 0;
}

/** `is_cut`: the level may be higher than what is known of it. */
function take<D extends KycDecision>(state: KycState<D>, decision: D, is_cut: boolean): void {
  const { kind, level, expires_at_ms } = decision;
  if (kind === 'submitted') {
    const wanted = level ?? state.level + 1;
    if (state.status !== 'approved') state.status = 'pending';
    state.requested_level = state.status === 'pending' || wanted > state.level ? wanted : null;
    return;
  }
  // The clock ends the approval that holds, not one that was made since with a later end.
  if (kind === 'lapsed' && !isOver(state, decision.at_ms)) return;
  state.last = decision;
  if (kind === 'level_upgraded') {
    state.level = Math.max(state.level, level ?? 0);
    state.expires_at_ms = expires_at_ms ?? state.expires_at_ms;
    if (state.status === 'approved' && (state.requested_level ?? 0) <= state.level)
      state.requested_level = null;
    return;
  }
  state.requested_level = null;
  // A failed upgrade takes nothing that was reached.
  const is_upgrade = !is_cut && level !== null && level > state.level;
  if (kind === 'rejected' && state.status === 'approved' && is_upgrade) return;
  state.expires_at_ms = kind === 'approved' ? expires_at_ms : null;
  if (kind === 'approved') state.level = level ?? state.level;
  state.status = kind === 'lapsed' ? 'expired' : kind;
}

function isOver({ status, expires_at_ms }: KycState, at_ms: number): boolean {
  return status === 'approved' && expires_at_ms !== null && expires_at_ms <= at_ms;
}

/** By time, then the better for the player first: so equal times have one order, too. */
function compare(a: KycDecision, b: KycDecision): number {
  return (
    a.at_ms - b.at_ms ||
    KYC_KINDS.indexOf(a.kind) - KYC_KINDS.indexOf(b.kind) ||
    descending(a.level, b.level, Number.NEGATIVE_INFINITY) ||
    descending(a.expires_at_ms, b.expires_at_ms, Number.POSITIVE_INFINITY)
  );
}

function descending(a: number | null, b: number | null, if_null: number): number {
  const [left, right] = [a ?? if_null, b ?? if_null];
  if (left === right) return 0;
  return left > right ? -1 : 1;
}

/** Whether they give the same rights; the last approved level of a player without an approval gives none. */
function isSame(a: KycState, b: KycState): boolean {
  if (a.status !== b.status) return false;
  const is_same_case = a.requested_level === b.requested_level;
  if (a.status !== 'approved') return is_same_case;
  return is_same_case && a.level === b.level && a.expires_at_ms === b.expires_at_ms;
}

/**
 * Whether ingested kyc_* events set the status (bonuses part 8). They do until somebody chooses a model (null), so that a
 * tenant which has reported KYC by events from the start loses no status.
 */
export function mayEventsDecide(chosen: KycModel | null): boolean {
  return chosen === null || mayPlatformDecide(chosen);
}

/** Whether the platform's webhooks set the status. */
export function mayPlatformDecide(model: KycModel): boolean {
  return model === 'platform_owns' || model === 'dual';
}

/**
 * Whether operators decide. They do until somebody chooses a model (null); the platform gets only what operators decide
 * under a chosen one.
 */
export function mayOperatorDecide(chosen: KycModel | null): boolean {
  return chosen === null || chosen === 'crm_owns' || chosen === 'dual';
}
