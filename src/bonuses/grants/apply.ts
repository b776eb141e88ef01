import type { Tx } from '../../platform/postgres/port.ts';
import { idOfPublished } from '../../adapters/inbound.ts';
import { baseCeil, MAX_AMOUNT, MAX_BASE_AMOUNT, wageringRequired } from '../templates/amounts.ts';
import { settleInCampaigns, type ChangedGrant } from './campaign-settlement.ts';
import {
  addHistory,
  correctBudgets,
  nextSlots,
  updateGrants,
  type GrantChange,
  type NewHistory,
} from './apply-queries.ts';
import type { CallChange } from './call-queries.ts';
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
/** How often a platform that has accepted a bonus is asked what happened to it, if it does not say so itself. */
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

/** A report about a grant that the transaction has locked. */
export interface Reported {
  before: GrantRow;
  report: GrantReport;
  /** What else changes about the row, of what the report makes of it. */
  finish?: ((grant: GrantRow) => CallChange) | undefined;
}

/** What a report has led to. `grant` is the row as it is now, after all reports that were applied with this one. */
export interface Applied {
  applied: boolean;
  changed: boolean;
  new_status: GrantStatus;
  grant: GrantRow;
}

/** What a report makes of a grant, of which nothing is written yet. `grant` has its new place once it is written. */
export interface Move extends Applied, ChangedGrant {
  /** Whether the row is to be written. */
  is_written: boolean;
  /** It failed and exists after all: it takes a place beyond all others. */
  revived: boolean;
  /** The event of its history; null: the report changes nothing. */
  history: NewHistory | null;
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
 * budgets of the template and the campaign. Throws BONUS_CONFIG_INVALID for terms that this version cannot read.
 */
export async function applyEvent(
  tx: Tx,
  before: GrantRow,
  report: GrantReport,
  finish?: Reported['finish'],
): Promise<Applied> {
  const [applied] = await applyEvents(tx, [{ before, report, finish }]);
  if (applied === undefined) throw new Error('a report was not applied');
  return applied;
}

/**
 * Applies reports in their order, as {@link applyEvent} does one after the other, with few statements for all of them;
 * resolves with what each has led to. Several may be about one grant: of these the first `before` counts. The budgets are
 * locked last, in the order of their ids. Where one report must not fail for another, use {@link moveOf} for each, and
 * {@link writeMoves}.
 */
export async function applyEvents(tx: Tx, reports: readonly Reported[]): Promise<Applied[]> {
  const latest = new Map<string, GrantRow>();
  const moves = reports.map(({ before, report, finish }) => {
    const move = moveOf(latest.get(before.grant_id) ?? before, report, finish);
    latest.set(before.grant_id, move.grant);
    return move;
  });
  return writeMoves(tx, moves);
}

/** What a report makes of a grant. Throws BONUS_CONFIG_INVALID for terms that this version cannot read. */
export function moveOf(before: GrantRow, report: GrantReport, finish?: Reported['finish']): Move {
  const { event, received_at } = report;
  const { state, applied, changed, revived } = transition(stateOf(before), event);
  const updated_at = received_at;
  if (!changed) {
    const grant = finish === undefined ? before : { ...before, ...finish(before), updated_at };
    const is_written = finish !== undefined;
    return {
      applied,
      changed,
      new_status: before.status,
      before,
      grant,
      is_written,
      revived: false,
      history: null,
    };
  }
  const { is_too_large, ...amounts } = amountsOf(before, state.facts);
  const { status } = state;
  const change: Partial<GrantChange> = {
    status,
    outcome: state.outcome,
    needs_review: state.needs_review || is_too_large,
    ...amounts,
    ...timesOf(before, status, state.facts),
    facts: factsJson(state.facts),
    status_reason: isLive(status) ? before.status_reason : (state.facts.reason ?? before.status_reason),
    next_attempt_at: nextAttemptAt(before, status, event, received_at),
    last_error: revived
      ? null
      : applied && event.name === 'bonus.rejected'
        ? refusalOf(report)
        : before.last_error,
    ...(revived ? { exclusion_group: null } : {}),
    seq: before.seq + 1,
  };
  const moved = { ...before, ...change, updated_at };
  const grant = finish === undefined ? moved : { ...moved, ...finish(moved), updated_at };
  const history = historyOf(before, report, { status, seq: grant.seq, applied });
  return { applied, changed, new_status: status, before, grant, is_written: true, revived, history };
}

function historyOf(
  before: GrantRow,
  { event, source, event_id, received_at, data }: GrantReport,
  { status, seq, applied }: { status: GrantStatus; seq: number; applied: boolean },
): NewHistory {
  const log_event = LOG_EVENTS[event.name] ?? `custom_bonus_${event.name.slice('bonus.'.length)}`;
  const { tenant_id, project_id, grant_id, adapter_slug } = before;
  return {
    tenant_id,
    project_id,
    grant_id,
    seq,
    event: event.name,
    source,
    event_id,
    from_status: before.status,
    to_status: status,
    occurred_at: new Date(event.at_ms),
    received_at,
    data,
    log: applied ? { event: log_event, ingestion_id: idOfPublished(adapter_slug, event_id) } : null,
  };
}

/**
 * Writes moves of locked grants, in their order: several of one grant follow from each other. Resolves with what each has
 * led to.
 */
export async function writeMoves(tx: Tx, moves: readonly Move[]): Promise<Applied[]> {
  const revived = moves.filter((move) => move.revived).map(({ grant }) => grant);
  const slots = await nextSlots(tx, revived);
  const slot_of = new Map(revived.map(({ grant_id }, i) => [grant_id, slots[i]]));
  const changed = new Map<string, ChangedGrant>();
  for (const { before, grant, is_written } of moves) {
    if (!is_written) continue;
    const { grant_id } = grant;
    const slot = slot_of.get(grant_id) ?? grant.slot;
    changed.set(grant_id, { before: changed.get(grant_id)?.before ?? before, grant: { ...grant, slot } });
  }
  const all = [...changed.values()];
  const cost = ({ status, bonus_amount_base }: GrantRow) => (isCounted(status) ? bonus_amount_base : 0n);
  await Promise.all([
    ...updateGrants(
      tx,
      all.map(({ grant }) => grant),
    ),
    ...addHistory(
      tx,
      moves.flatMap(({ history }) => history ?? []),
    ),
    ...correctBudgets(
      tx,
      all.map(({ before, grant }) => ({
        tenant_id: grant.tenant_id,
        project_id: grant.project_id,
        template_id: grant.template_id,
        difference: cost(grant) - cost(before),
      })),
    ),
    ...settleInCampaigns(tx, all),
  ]);
  return moves.map(({ applied, changed: has_changed, new_status, grant }) => ({
    applied,
    changed: has_changed,
    new_status,
    grant: changed.get(grant.grant_id)?.grant ?? grant,
  }));
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
  // The platform may still be asked about a grant that has ended: a report does not replace its answer.
  if (!isLive(status)) return isLive(before.status) ? null : before.next_attempt_at;
  if (before.cancel_requested_at !== null) return before.next_attempt_at ?? now;
  if (status === 'active') return null;
  return name === 'bonus.accepted' ? new Date(now.getTime() + POLL_MS) : before.next_attempt_at;
}
