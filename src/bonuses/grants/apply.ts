import type { Tx } from '../../platform/postgres/port.ts';
import { idOfPublished } from '../adapters/event-ids.ts';
import { baseCeil, MAX_AMOUNT, MAX_BASE_AMOUNT, wageringRequired } from '../templates/amounts.ts';
import { settleInCampaign } from './campaign-settlement.ts';
import { correctBudget, insertHistory, nextSlot, updateGrant, type GrantChange } from './apply-queries.ts';
import {
  baseRateOf,
  factsJson,
  stateOf,
  termsOfGrant,
  type EventSource,
  type GrantRow,
  type LastError,
} from './grant-row.ts';
import {
  isCounted,
  isLive,
  transition,
  type Facts,
  type GrantEvent,
  type GrantStatus,
} from './transition.ts';

const HOUR_MS = 3_600_000;
/** How often a platform that has accepted a bonus is asked what has become of it, if it does not say so itself. */
const POLL_MS = HOUR_MS;

/** An event that a platform has reported, or that the service concluded from its answers. */
export interface GrantReport {
  event: GrantEvent;
  source: EventSource;
  /** The same for a repeat of the same report; with the slug it gives the id of the event on the log. */
  event_id: string;
  received_at: Date;
  /** What the report said, for the history. */
  data: object;
}

/** What a report has led to. `grant` is the row as it is now. */
export interface Applied {
  applied: boolean;
  changed: boolean;
  new_status: GrantStatus;
  grant: GrantRow;
}

/** The events of the log by what has moved a grant; others are `custom_bonus_<name>`. */
const LOG_EVENTS: Readonly<Record<string, string>> = {
  'bonus.credited': 'bonus_claimed',
  'bonus.wagered': 'bonus_wagered',
  'bonus.completed': 'bonus_completed',
  'bonus.expired': 'bonus_expired',
};

/**
 * Applies a report to a grant that the transaction has locked: the one way in which statuses change, whether by webhook,
 * an answer of the platform, reconciliation or the clock. Writes the row, its history, the event for the log, and the
 * template's budget. `finish` writes what else changes about the row, and resolves with it; it is sent together with these.
 */
export async function applyEvent(
  tx: Tx,
  before: GrantRow,
  report: GrantReport,
  finish?: (grant: GrantRow) => Promise<GrantRow>,
): Promise<Applied> {
  const { event, source, event_id, received_at, data } = report;
  const { state, applied, changed, revived } = transition(stateOf(before), event);
  if (!changed) {
    return { applied, changed, new_status: before.status, grant: (await finish?.(before)) ?? before };
  }
  const { is_too_large, ...amounts } = amountsOf(before, state.facts);
  const change: GrantChange = {
    ...before,
    status: state.status,
    outcome: state.outcome,
    needs_review: state.needs_review || is_too_large,
    ...amounts,
    ...timesOf(before, state.status, state.facts),
    facts: factsJson(state.facts),
    status_reason: isLive(state.status) ? before.status_reason : (state.facts.reason ?? before.status_reason),
    next_attempt_at: nextAttemptAt(before, state.status, event, received_at),
    last_error: revived ? null : ((applied ? refusalOf(report) : null) ?? before.last_error),
    ...(revived ? { slot: await nextSlot(tx, before), exclusion_group: null } : {}),
    seq: before.seq + 1,
  };
  const cost = (status: GrantStatus, base: bigint) => (isCounted(status) ? base : 0n);
  const log_event = LOG_EVENTS[event.name] ?? `custom_bonus_${event.name.slice('bonus.'.length)}`;
  const grant = { ...before, ...change, updated_at: received_at };
  const [, , finished] = await Promise.all([
    updateGrant(tx, before, change, received_at),
    insertHistory(tx, [
      {
        tenant_id: before.tenant_id,
        project_id: before.project_id,
        grant_id: before.grant_id,
        seq: change.seq,
        event: event.name,
        source,
        event_id,
        from_status: before.status,
        to_status: state.status,
        occurred_at: new Date(event.at_ms),
        received_at,
        data,
        log: applied
          ? { event: log_event, ingestion_id: idOfPublished(before.adapter_slug, event_id) }
          : null,
      },
    ]),
    finish?.(grant),
  ]);
  await correctBudget(
    tx,
    before,
    cost(change.status, change.bonus_amount_base) - cost(before.status, before.bonus_amount_base),
  );
  if (grant.campaign_id !== null) await settleInCampaign(tx, before, grant);
  return { applied, changed, new_status: state.status, grant: finished ?? grant };
}

/** Why the platform refuses a bonus, as it has said it; null for any other report. */
function refusalOf({ event, data, received_at }: GrantReport): LastError | null {
  const { code, message } = data as { code?: unknown; message?: unknown };
  if (event.name !== 'bonus.rejected' || typeof code !== 'string' || typeof message !== 'string') return null;
  return { code, message, at: received_at.toISOString() };
}

type Amounts = Pick<
  GrantChange,
  | 'bonus_amount'
  | 'bonus_amount_base'
  | 'wagering_required'
  | 'wagering_progress'
  | 'progress_source'
  | 'released_amount'
  | 'released_amount_base'
>;

/** `is_too_large`: the platform has said an amount that no row holds; the largest one stands for it. */
function amountsOf(before: GrantRow, facts: Facts): Amounts & { is_too_large: boolean } {
  const { amount, winnings, wagering_required, total_wagered, released_amount } = facts;
  const rate = baseRateOf(before);
  const bonus_amount = amount ?? BigInt(before.bonus_amount);
  const deposit_amount = before.deposit_amount === null ? null : BigInt(before.deposit_amount);
  const { wagering } = termsOfGrant(before);
  const by_winnings =
    wagering.basis === 'winnings' && winnings !== null
      ? wageringRequired(wagering, { bonus_amount, deposit_amount, winnings })
      : null;
  let is_too_large = false;
  const atMost = (most: bigint, value: bigint) => {
    is_too_large ||= value > most;
    return value > most ? most : value;
  };
  const base = (value: bigint) => atMost(MAX_BASE_AMOUNT, baseCeil(value, rate));
  const amounts: Amounts = {
    bonus_amount: String(bonus_amount),
    bonus_amount_base: amount === null ? before.bonus_amount_base : base(bonus_amount),
    wagering_required: String(
      wagering_required ??
        (by_winnings === null ? before.wagering_required : atMost(MAX_AMOUNT, by_winnings)),
    ),
    wagering_progress: String(total_wagered ?? before.wagering_progress),
    progress_source: total_wagered === null ? before.progress_source : 'platform',
    released_amount: released_amount === null ? before.released_amount : String(released_amount),
    released_amount_base: released_amount === null ? before.released_amount_base : base(released_amount),
  };
  return { ...amounts, is_too_large };
}

function timesOf(
  before: GrantRow,
  status: GrantStatus,
  facts: Facts,
): Pick<GrantChange, 'activated_at' | 'expires_at' | 'completed_at' | 'ended_at'> {
  const at = (ms: number | null) => (ms === null ? null : new Date(ms));
  const activated_at = at(facts.credited_ms ?? facts.wagered_ms) ?? before.activated_at;
  const { time_limit_hours } = termsOfGrant(before);
  const by_terms =
    activated_at !== null && time_limit_hours !== null
      ? new Date(activated_at.getTime() + time_limit_hours * HOUR_MS)
      : before.expires_at;
  const ended_at = isLive(status) ? null : (at(facts.ended_ms) ?? before.ended_at);
  return {
    activated_at,
    expires_at: at(facts.expires_ms) ?? by_terms,
    completed_at: status === 'completed' ? ended_at : null,
    ended_at,
  };
}

/** A grant whose platform has accepted it is asked about now and then; one that is to be cancelled at once. */
function nextAttemptAt(before: GrantRow, status: GrantStatus, { name }: GrantEvent, now: Date): Date | null {
  if (!isLive(status)) return null;
  if (before.cancel_requested_at !== null) return before.next_attempt_at ?? now;
  if (status === 'active') return null;
  return name === 'bonus.accepted' ? new Date(now.getTime() + POLL_MS) : before.next_attempt_at;
}
