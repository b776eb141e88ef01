import { fits, type LifetimeTotals } from '../../ledger/tier-thresholds/queries.ts';

const DAY_MS = 86_400_000;

/** What the rules read of a tier. Amounts are in the smallest unit of the tenant's base currency. */
export interface TierRule {
  code: string;
  rank: number;
  is_active: boolean;
  deposit_subunit: bigint;
  wagered_subunit: bigint;
  min_days_active: number;
  /** Null: inactivity never takes it away. */
  inactivity_days: number | null;
  grace_days: number;
  /** A promotion into it waits until a person has approved checks of the player (licence rules). */
  needs_checks: boolean;
}

/** What the rules change of a player. Times are in milliseconds since the epoch. */
export interface TierState {
  /** Null: below every rank. */
  code: string | null;
  /** When the tier was given; inactivity counts from then at the earliest. */
  promoted_ms: number | null;
  /** When inactivity took the tier down; null once the player was active after that. */
  demoted_ms: number | null;
  /** The tier that was earned and waits for checks. */
  pending_code: string | null;
}

/** What the rules read of a player. */
export interface TierPlayer extends TierState, LifetimeTotals {
  status: string;
  locked: boolean;
  first_seen_ms: number;
  /** The last activity of the player's own; the first event when there was none. */
  last_active_ms: number;
}

/** Why a tier stays as it is. */
export type Unchanged =
  'self_excluded' | 'banned' | 'deleted' | 'locked' | 'inactive' | 'pending_approval' | 'requirements';

/** What is known about a change, for the history. */
export interface TierContext {
  /** The tier by a promotion: the totals and days that met its requirements. */
  met?: { lifetime_deposit_subunit: bigint; lifetime_wagered_subunit: bigint; days_active: number };
  /** By inactivity. */
  inactive_days?: number;
  /** By a reset. */
  cause?: 'tier_deactivated';
  /** A higher tier that was earned and waits for checks. */
  pending_approval?: string;
}

/** The outcome of the rules: the state of the player from now on, and what changed. */
export interface TierDecision extends TierState {
  change: { trigger: 'auto' | 'reset'; context: TierContext } | undefined;
  /** Why nothing changed; undefined when something did. */
  reason: Unchanged | undefined;
  /** When the passing of time alone may change the tier again; null: never. */
  due_ms: number | null;
}

const PROTECTED = new Set(['self_excluded', 'banned', 'deleted']);

/**
 * The tier of a player by the rules of `bonuses.md` 7: up to the highest tier whose requirements hold, one rank down
 * after a full period of inactivity, off a tier that is not active any more. The protected are never promoted. Pure, and
 * the same for every caller; `tiers` are all of the tenant, inactive ones too.
 */
export function recompute(player: TierPlayer, tiers: readonly TierRule[], now_ms: number): TierDecision {
  const state = awake(player);
  if (PROTECTED.has(player.status)) {
    const reason = player.status as Unchanged;
    return { ...state, change: undefined, reason, due_ms: null };
  }
  const active = tiers.filter(({ is_active }) => is_active).sort((a, b) => b.rank - a.rank);
  const current = tiers.find(({ code }) => code === state.code);
  if (state.code !== null && current?.is_active !== true) {
    const code = resetTarget(player, active, current?.rank ?? Infinity, now_ms);
    const change = { trigger: 'reset', context: { cause: 'tier_deactivated' } } as const;
    // The next look decides whether more was earned.
    return { ...state, code, promoted_ms: now_ms, change, reason: undefined, due_ms: now_ms };
  }
  const earned = active.filter((tier) => tier.rank > rankOf(current) && holds(player, tier, now_ms));
  const asked = active.find(({ code, needs_checks }) => needs_checks && code === state.pending_code);
  const moved =
    promote(player, state, { earned, asked }, now_ms) ?? demote(player, state, current, active, now_ms);
  const pending_code = pendingOf(player, state, { earned, asked }, current);
  const after = moved ?? { ...state, pending_code, change: undefined };
  const reason = moved === undefined ? reasonOf(player, after, earned) : undefined;
  return { ...after, reason, due_ms: dueOf(player, after, active, now_ms) };
}

/** The player's state; a demotion is over once the player was active after it. */
function awake({ code, promoted_ms, demoted_ms, pending_code, last_active_ms }: TierPlayer): TierState {
  const is_back = demoted_ms !== null && last_active_ms > demoted_ms;
  return { code, promoted_ms, demoted_ms: is_back ? null : demoted_ms, pending_code };
}

function rankOf(tier: TierRule | undefined): number {
  return tier?.rank ?? -1;
}

/** At least 0: the clock of the machine that received the first event may be ahead. */
function daysActive(player: TierPlayer, now_ms: number): number {
  return Math.max(0, Math.floor((now_ms - player.first_seen_ms) / DAY_MS));
}

function holds(player: TierPlayer, tier: TierRule, now_ms: number): boolean {
  return fits(player, tier) && daysActive(player, now_ms) >= tier.min_days_active;
}

/** The highest tier up to the old rank whose requirements hold, else the lowest of them, else none. */
function resetTarget(
  player: TierPlayer,
  active: readonly TierRule[],
  old_rank: number,
  now_ms: number,
): string | null {
  const lower = active.filter(({ rank }) => rank <= old_rank);
  return (lower.find((tier) => holds(player, tier, now_ms)) ?? lower.at(-1))?.code ?? null;
}

type Moved = TierState & { change: NonNullable<TierDecision['change']> };

function mayRise(player: TierPlayer, state: TierState): boolean {
  return !player.locked && state.demoted_ms === null;
}

/** Higher tiers, active ones. */
interface Higher {
  /** Those whose requirements hold, the highest first. */
  earned: readonly TierRule[];
  /** The one that waits for checks since an earlier look, or because a person asked for it. */
  asked: TierRule | undefined;
}

function promote(player: TierPlayer, state: TierState, higher: Higher, now_ms: number): Moved | undefined {
  const best = higher.earned.find(({ needs_checks }) => !needs_checks);
  if (best === undefined || !mayRise(player, state)) return undefined;
  const pending_code = pendingOf(player, state, higher, best);
  const met = {
    lifetime_deposit_subunit: player.total_deposited,
    lifetime_wagered_subunit: player.total_wagered,
    days_active: daysActive(player, now_ms),
  };
  const context = pending_code === null ? { met } : { met, pending_approval: pending_code };
  const change = { trigger: 'auto', context } as const;
  return { ...state, code: best.code, promoted_ms: now_ms, pending_code, change };
}

/** The tier above `own` that waits for checks: the highest one that was earned, or the one that was asked for. */
function pendingOf(
  player: TierPlayer,
  state: TierState,
  { earned: [best], asked }: Higher,
  own: TierRule | undefined,
): string | null {
  const earned = best?.needs_checks === true && mayRise(player, state) ? best : undefined;
  const highest = rankOf(asked) > rankOf(earned) ? asked : earned;
  return highest !== undefined && highest.rank > rankOf(own) ? highest.code : null;
}

function demote(
  player: TierPlayer,
  state: TierState,
  current: TierRule | undefined,
  active: readonly TierRule[],
  now_ms: number,
): Moved | undefined {
  const deadline_ms = demotionDue(player, state, current);
  if (current === undefined || deadline_ms === null || now_ms < deadline_ms) return undefined;
  const next = active.find(({ rank }) => rank < current.rank);
  const inactive_days = Math.floor((now_ms - player.last_active_ms) / DAY_MS);
  const change = { trigger: 'auto', context: { inactive_days } } as const;
  return { ...state, code: next?.code ?? null, demoted_ms: now_ms, pending_code: null, change };
}

function demotionDue(
  player: TierPlayer,
  { promoted_ms, demoted_ms }: TierState,
  tier: TierRule | undefined,
): number | null {
  if (tier === undefined || tier.inactivity_days === null) return null;
  const from_ms = Math.max(player.last_active_ms, promoted_ms ?? -Infinity, demoted_ms ?? -Infinity);
  return from_ms + (tier.inactivity_days + tier.grace_days) * DAY_MS;
}

function reasonOf(player: TierPlayer, state: TierState, earned: readonly TierRule[]): Unchanged {
  if (state.pending_code !== null) return 'pending_approval';
  if (earned.length === 0) return 'requirements';
  return player.locked ? 'locked' : 'inactive';
}

/** When a demotion, or the days that a higher tier requires, may come due. */
function dueOf(
  player: TierPlayer,
  state: TierState,
  active: readonly TierRule[],
  now_ms: number,
): number | null {
  const current = active.find(({ code }) => code === state.code);
  const demotion_ms = demotionDue(player, state, current);
  const times = demotion_ms === null ? [] : [demotion_ms];
  if (mayRise(player, state)) {
    for (const tier of active) {
      const by_days_ms = player.first_seen_ms + tier.min_days_active * DAY_MS;
      const waits = fits(player, tier) && !holds(player, tier, now_ms);
      if (tier.rank > rankOf(current) && waits) times.push(by_days_ms);
    }
  }
  return times.length === 0 ? null : Math.min(...times);
}
