/** The statuses of a grant. A grant is live while it is pending or active; all others are terminal. */
export const GRANT_STATUSES = [
  'pending',
  'active',
  'completed',
  'forfeited',
  'expired',
  'lost',
  'cancelled',
  'failed',
] as const;
export type GrantStatus = (typeof GRANT_STATUSES)[number];

/**
 * What is known of the platform: nothing was sent; a call may be under way; a call had no usable answer; the platform
 * has the bonus; the platform refused it.
 */
export const OUTCOMES = ['unsent', 'sent', 'unknown', 'confirmed', 'rejected'] as const;
export type GrantOutcome = (typeof OUTCOMES)[number];

/** The events that a platform reports, by webhook, in an answer, or when it is asked for a status. */
export const EVENT_NAMES = [
  'bonus.accepted',
  'bonus.credited',
  'bonus.wagered',
  'bonus.completed',
  'bonus.expired',
  'bonus.forfeited',
  'bonus.lost',
  'bonus.cancelled',
  'bonus.rejected',
] as const;
export type GrantEventName = (typeof EVENT_NAMES)[number];

/** An event of a grant. Amounts are in the smallest unit of the grant's currency, times in milliseconds. */
export interface GrantEvent {
  name: GrantEventName;
  /** When it happened, as the platform says. */
  at_ms: number;
  platform_bonus_id?: string | null;
  amount?: bigint;
  credited_ms?: number;
  expires_ms?: number;
  /** What the free spins or the free bet have won: the base of the wagering requirement with basis `winnings`. */
  winnings?: bigint;
  /** Wagered since the credit, absolute. */
  total_wagered?: bigint;
  wagering_required?: bigint;
  completed_ms?: number;
  released_amount?: bigint;
  reason?: string;
  /** The service concluded it without the platform: what is known of the platform stays as it is. */
  is_presumed?: true;
}

/**
 * What the platform has said of a grant so far. Each field is a minimum, a maximum or a first value of all events, so
 * the order in which the events arrive does not matter.
 */
export interface Facts {
  platform_bonus_id: string | null;
  /** The smallest time of a credit, and of a report of wagering. */
  credited_ms: number | null;
  wagered_ms: number | null;
  amount: bigint | null;
  winnings: bigint | null;
  expires_ms: number | null;
  total_wagered: bigint | null;
  /** The requirement in the report with the largest total. */
  wagering_required: bigint | null;
  required_at_total: bigint | null;
  released_amount: bigint | null;
  /** When the status that the grant has ended with was reached. */
  ended_ms: number | null;
  reason: string | null;
}

export const NO_FACTS: Facts = {
  platform_bonus_id: null,
  credited_ms: null,
  wagered_ms: null,
  amount: null,
  winnings: null,
  expires_ms: null,
  total_wagered: null,
  wagering_required: null,
  required_at_total: null,
  released_amount: null,
  ended_ms: null,
  reason: null,
};

/** The part of a grant that events change. */
export interface GrantState {
  status: GrantStatus;
  outcome: GrantOutcome;
  needs_review: boolean;
  facts: Facts;
}

/** The outcome of an event for a grant. */
export interface Transition {
  state: GrantState;
  /** Whether the event moved the grant: its status, or, by a larger total, its wagering. */
  applied: boolean;
  /** Whether anything about the grant changed. An event that arrives after the end may still complete its facts. */
  changed: boolean;
  /** A failed grant whose bonus exists after all: it takes a place beyond the limit, and its budget again. */
  revived: boolean;
}

/** The status that an event leads to; those without one move nothing. */
const LEADS_TO: Readonly<Partial<Record<GrantEventName, GrantStatus>>> = {
  'bonus.credited': 'active',
  'bonus.wagered': 'active',
  'bonus.completed': 'completed',
  'bonus.expired': 'expired',
  'bonus.forfeited': 'forfeited',
  'bonus.lost': 'lost',
  'bonus.cancelled': 'cancelled',
  'bonus.rejected': 'failed',
};

/** pending < active < every terminal status. */
export function rankOf(status: GrantStatus): 0 | 1 | 2 {
  if (status === 'pending') return 0;
  return status === 'active' ? 1 : 2;
}

/** Whether the grant has not ended. */
export function isLive(status: GrantStatus): boolean {
  return rankOf(status) < 2;
}

/** Whether the grant counts for limits and budgets. */
export function isCounted(status: GrantStatus): boolean {
  return status !== 'cancelled' && status !== 'failed';
}

/**
 * Applies an event. The rank of the status only rises; a terminal status never changes, except `failed`, which follows
 * evidence that the bonus exists (credited, completed).
 */
export function transition(before: GrantState, event: GrantEvent): Transition {
  const target = LEADS_TO[event.name];
  const revived =
    before.status === 'failed' && (event.name === 'bonus.credited' || event.name === 'bonus.completed');
  // The platform cannot refuse a bonus that it has.
  const may_move = event.name !== 'bonus.rejected' || before.status === 'pending';
  const moves = target !== undefined && may_move && (revived || rankOf(target) > rankOf(before.status));
  const status = moves ? target : before.status;
  // What a refusal said is void once there is evidence of the opposite.
  const known = revived ? { ...before.facts, ended_ms: null, reason: null } : before.facts;
  const facts = learn(known, event, target === status);
  const grows = facts.total_wagered !== before.facts.total_wagered;
  const state: GrantState = {
    status,
    outcome: outcomeAfter(before, event, status),
    needs_review: before.needs_review || revived || isContradiction(before, event, facts),
    facts,
  };
  return {
    state,
    applied: moves || (event.name === 'bonus.wagered' && before.status === 'active' && grows),
    changed: !isSame(before, state),
    revived,
  };
}

function outcomeAfter(before: GrantState, event: GrantEvent, status: GrantStatus): GrantOutcome {
  if (event.is_presumed === true) return before.outcome === 'sent' ? 'unknown' : before.outcome;
  if (status === 'failed') return event.name === 'bonus.rejected' ? 'rejected' : before.outcome;
  return event.name === 'bonus.rejected' ? before.outcome : 'confirmed';
}

/** Whether the event says the opposite of what is known, so that somebody must look at the platform. */
function isContradiction(before: GrantState, event: GrantEvent, { platform_bonus_id }: Facts): boolean {
  const is_other = (event.platform_bonus_id ?? platform_bonus_id) !== platform_bonus_id;
  const is_late_refusal =
    event.name === 'bonus.rejected' && before.status !== 'pending' && before.status !== 'failed';
  // A refusal ends a bonus that was accepted, and the answer that accepted it may be written after it.
  const exists_there =
    event.name !== 'bonus.cancelled' && event.name !== 'bonus.rejected' && event.name !== 'bonus.accepted';
  // It was given up because the platform did not know it: a call that was late may still have reached the platform.
  const is_after_giving_up =
    before.status === 'cancelled' &&
    before.outcome !== 'confirmed' &&
    (exists_there || event.name === 'bonus.accepted');
  const is_after_refusal = before.status === 'failed' && exists_there;
  return is_other || is_late_refusal || is_after_giving_up || is_after_refusal;
}

/** `is_reached`: the grant has the status that the event leads to. */
function learn(facts: Facts, event: GrantEvent, is_reached: boolean): Facts {
  const { name, at_ms } = event;
  if (name === 'bonus.rejected') return is_reached ? { ...facts, ...endOf(facts, event) } : facts;
  const ends = name !== 'bonus.credited' && name !== 'bonus.wagered' && name !== 'bonus.accepted';
  // A report of another end than the grant's says nothing about the grant's.
  if (ends && !is_reached) return facts;
  const total = event.total_wagered;
  const is_newest =
    total !== undefined && event.wagering_required !== undefined && total >= (facts.required_at_total ?? -1n);
  return {
    platform_bonus_id: facts.platform_bonus_id ?? event.platform_bonus_id ?? null,
    credited_ms:
      name === 'bonus.credited' ? least(facts.credited_ms, event.credited_ms ?? at_ms) : facts.credited_ms,
    wagered_ms: name === 'bonus.wagered' ? least(facts.wagered_ms, at_ms) : facts.wagered_ms,
    amount: greatest(facts.amount, event.amount),
    winnings: greatest(facts.winnings, event.winnings),
    expires_ms: greatest(facts.expires_ms, event.expires_ms),
    total_wagered: greatest(facts.total_wagered, total),
    wagering_required: is_newest
      ? total === facts.required_at_total
        ? greatest(facts.wagering_required, event.wagering_required)
        : (event.wagering_required ?? null)
      : facts.wagering_required,
    required_at_total: is_newest ? total : facts.required_at_total,
    released_amount: greatest(facts.released_amount, event.released_amount),
    ...(ends ? endOf(facts, event) : { ended_ms: facts.ended_ms, reason: facts.reason }),
  };
}

function endOf(
  facts: Facts,
  { at_ms, completed_ms, reason }: GrantEvent,
): Pick<Facts, 'ended_ms' | 'reason'> {
  return { ended_ms: least(facts.ended_ms, completed_ms ?? at_ms), reason: facts.reason ?? reason ?? null };
}

function least(one: number | null, other: number): number {
  return one === null ? other : Math.min(one, other);
}

function greatest<T extends number | bigint>(one: T | null, other: T | undefined): T | null {
  if (other === undefined) return one;
  return one === null || other > one ? other : one;
}

function isSame(one: GrantState, other: GrantState): boolean {
  const names = Object.keys(NO_FACTS) as (keyof Facts)[];
  return (
    one.status === other.status &&
    one.outcome === other.outcome &&
    one.needs_review === other.needs_review &&
    names.every((name) => one.facts[name] === other.facts[name])
  );
}
