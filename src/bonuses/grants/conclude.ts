import type { Tx } from '../../platform/postgres/port.ts';
import { earlyCallPauseMs, callPauseMs } from '../../adapters/retry-schedule.ts';
import { applyEvent, applyEvents, type Reported, type GrantReport } from './apply.ts';
import { updateCall, type CallChange } from './call-queries.ts';
import { endReasonOf, PLAYER_EXCLUDED, type GrantRow, type EventSource } from './grant-row.ts';
import { lockGrant } from './queries.ts';
import { isLive, type GrantEventName } from './transition.ts';
import { v5 } from 'uuid';
import type { PlatformBonus, Refused, Unknown, Unsent } from '../../adapters/platform.ts';

/** A grant whose outcome is not known after this time is one for somebody to look at; it is tried further. */
const REVIEW_AFTER_MS = 24 * 3_600_000;

/**
 * A grant that may have been sent is cancelled when its platform knows nothing of it. The call that sent it may still be on
 * its way there, so after this time the platform is asked once more to cancel it.
 */
const LATE_CALL_MS = 60_000;

/** A grant that was claimed for a call, and what that has led to. */
export interface Concluded {
  claimed: GrantRow;
  conclusion: Conclusion;
}

/**
 * Writes what a call has led to, in the caller's transaction; resolves with the row as it is then. What the platform said
 * counts always, because events may come in any order. Everything else counts only if no other call has begun since
 * `claimed` was claimed: a call that was taken for lost must not undo what its successor does.
 */
export async function conclude(
  tx: Tx,
  claimed: GrantRow,
  conclusion: Conclusion,
  now: Date,
): Promise<GrantRow> {
  const locked = await lockGrant(tx, claimed);
  if (locked === undefined) throw new Error(`grant ${claimed.grant_id} has vanished`);
  const [row] = await concludeLocked(tx, [{ claimed, conclusion, locked }], now);
  if (row === undefined) throw new Error('a call was not concluded');
  return row;
}

/** As {@link conclude}, of different grants that the transaction has locked, with few statements for all of them. */
export async function concludeLocked(
  tx: Tx,
  concluded: readonly (Concluded & { locked: GrantRow })[],
  now: Date,
): Promise<GrantRow[]> {
  const steps = concluded.map(({ claimed, conclusion, locked: row }) => {
    // The terms of a grant never change: those of the claim may have been parsed already.
    const locked = { ...row, terms: claimed.terms };
    return { locked, step: stepOf(locked, conclusion, { is_mine: row.calls === claimed.calls, now }) };
  });
  const reports = steps.flatMap(({ step }) => (step.kind === 'report' ? [step.reported] : []));
  const applied = await applyEvents(tx, reports);
  const called = await Promise.all(
    steps.flatMap(({ locked, step }) =>
      step.kind === 'call' ? [updateCall(tx, locked, step.change, now)] : [],
    ),
  );
  const rows = new Map([...applied.map(({ grant }) => grant), ...called].map((row) => [row.grant_id, row]));
  return steps.map(({ locked }) => rows.get(locked.grant_id) ?? locked);
}

/** What of a conclusion is written: a report, the end of the call, or nothing. */
type Step =
  { kind: 'report'; reported: Reported } | { kind: 'call'; change: CallChange } | { kind: 'nothing' };

function stepOf(
  locked: GrantRow,
  conclusion: Conclusion,
  { is_mine, now }: { is_mine: boolean; now: Date },
): Step {
  if (conclusion.kind === 'report') {
    // Only of a grant that had not ended: the same answer to the second question is the last.
    const is_to_ask = conclusion.report.event.is_presumed === true && isLive(locked.status);
    const finish = is_mine ? (grant: GrantRow) => afterReport(grant, now, is_to_ask) : undefined;
    return { kind: 'report', reported: { before: locked, report: conclusion.report, finish } };
  }
  if (!is_mine) return { kind: 'nothing' };
  if (isPresumed(locked)) return { kind: 'call', change: changeOfPresumed(locked, conclusion, now) };
  const is_open =
    isLive(locked.status) && (locked.status === 'pending' || locked.cancel_requested_at !== null);
  // An event of the platform was faster, and has left nothing to be done.
  if (!is_open) return { kind: 'call', change: { ...locked, next_attempt_at: null } };
  if (conclusion.kind !== 'barred') return { kind: 'call', change: changeOf(locked, conclusion, now) };
  // The platform has it after all.
  if (locked.outcome === 'confirmed')
    return { kind: 'call', change: { ...locked, ...waiting(locked, now, 0) } };
  return {
    kind: 'report',
    reported: endOfUnsent(locked, now, locked.cancel_reason ?? endReasonOf(conclusion.reason)),
  };
}

/** It was cancelled because its platform knew nothing of it, and the platform is asked once more ({@link LATE_CALL_MS}). */
function isPresumed({ status, next_attempt_at }: GrantRow): boolean {
  return status === 'cancelled' && next_attempt_at !== null;
}

/**
 * After that question was not answered with what happened to the bonus: it is asked again, for a day; a platform that
 * has the bonus and keeps it is one for somebody to look at.
 */
function changeOfPresumed(
  grant: GrantRow,
  conclusion: Exclude<Conclusion, { kind: 'report' }>,
  now: Date,
): CallChange {
  if (conclusion.kind !== 'retry') return { ...grant, next_attempt_at: null, needs_review: true };
  const { code, message } = conclusion;
  const next = waiting(grant, now, conclusion.retry_after_ms ?? 0);
  const last_error = { code, message, at: now.toISOString() };
  return { ...grant, ...next, last_error, ...(next.needs_review ? { next_attempt_at: null } : {}) };
}

/** Ends a grant of which nothing was sent; by default because its player is protected. */
export async function endUnsent(
  tx: Tx,
  locked: GrantRow,
  now: Date,
  reason = PLAYER_EXCLUDED,
): Promise<GrantRow> {
  const { before, report } = endOfUnsent(locked, now, reason);
  return (await applyEvent(tx, before, report)).grant;
}

function endOfUnsent(locked: GrantRow, now: Date, reason: string): Reported {
  // The platform does not know the grant, so the status of the call is that from before it.
  const before = locked.outcome === 'sent' ? { ...locked, outcome: 'unsent' as const } : locked;
  const { report } = reported(locked.grant_id, now, 'bonus.cancelled', { reason, is_presumed: true });
  return { before, report: { ...report, source: 'api' } };
}

/** After the platform has said something: what is left to be done. `is_to_ask`: the platform is asked once more. */
function afterReport(grant: GrantRow, now: Date, is_to_ask: boolean): CallChange {
  const settled = {
    ...grant,
    // The error of a refused bonus says why.
    last_error: grant.status === 'failed' ? grant.last_error : null,
    may_be_sent: grant.outcome !== 'confirmed' && grant.may_be_sent,
  };
  if (!isLive(grant.status))
    return { ...settled, next_attempt_at: is_to_ask ? new Date(now.getTime() + LATE_CALL_MS) : null };
  if (grant.cancel_requested_at !== null) return { ...settled, next_attempt_at: now };
  if (grant.status === 'active') return { ...settled, next_attempt_at: null };
  return { ...settled, ...waiting(grant, now, 0) };
}

function changeOf(
  grant: GrantRow,
  conclusion: Exclude<Conclusion, { kind: 'report' | 'barred' }>,
  now: Date,
): CallChange {
  const at = now.toISOString();
  const is_sent = grant.outcome === 'sent';
  switch (conclusion.kind) {
    case 'retry': {
      const { certainty, code, message, retry_after_ms, is_made } = conclusion;
      const is_cancel = grant.cancel_requested_at !== null;
      const may_be_sent =
        grant.may_be_sent || (!is_cancel && certainty === 'unknown' && grant.outcome !== 'confirmed');
      const outcome =
        grant.outcome === 'confirmed' || is_cancel ? grant.outcome : may_be_sent ? 'unknown' : 'unsent';
      const is_put_off = outcome === 'unsent' && !is_cancel && grant.campaign_id !== null;
      return {
        ...grant,
        outcome: outcome === 'sent' ? 'unknown' : outcome,
        may_be_sent,
        last_error: { code, message, at },
        attempts: is_made || !is_sent ? grant.attempts : Math.max(0, grant.attempts - 1),
        ...waiting(grant, now, retry_after_ms ?? 0),
        retry_early_at: is_put_off ? retryEarlyAt(grant, now, retry_after_ms ?? 0) : null,
      };
    }
    case 'cancel_refused': {
      const { code, message } = conclusion;
      const left = afterRefusal(grant, now);
      // Nobody waits for the answer, and the player is protected.
      const needs_review = left.needs_review || grant.cancel_reason === PLAYER_EXCLUDED;
      return { ...grant, ...NOT_CANCELLED, ...left, needs_review, last_error: { code, message, at } };
    }
    case 'cancel_too_late': {
      const message = 'the platform says that the bonus has ended, but not how';
      const last_error = { code: 'STATUS_UNKNOWN', message, at };
      return { ...grant, ...NOT_CANCELLED, ...afterRefusal(grant, now), needs_review: true, last_error };
    }
    case 'cancel_barred': {
      const cancel_reason = endReasonOf(conclusion.reason);
      const cancel = { cancel_requested_at: now, cancel_reason, is_protection_seen: true };
      return { ...grant, ...cancel, outcome: 'unknown', may_be_sent: true, next_attempt_at: now };
    }
  }
}

/** A pending grant goes on to be resolved, but not at once: it may come to the same refusal again. */
function afterRefusal(grant: GrantRow, now: Date): Pick<CallChange, 'next_attempt_at' | 'needs_review'> {
  if (grant.status === 'pending') return waiting(grant, now, 0);
  return { next_attempt_at: null, needs_review: grant.needs_review };
}

/** From when on a campaign's grant may go on if its platform takes others again. */
function retryEarlyAt(grant: GrantRow, now: Date, retry_after_ms: number): Date {
  return new Date(now.getTime() + earlyCallPauseMs(grant.grant_id, Math.max(1, grant.calls), retry_after_ms));
}

const NOT_CANCELLED = { cancel_requested_at: null, cancel_reason: null };

function waiting(
  grant: GrantRow,
  now: Date,
  retry_after_ms: number,
): Pick<CallChange, 'next_attempt_at' | 'needs_review'> {
  const pause_ms = callPauseMs(grant.grant_id, Math.max(1, grant.calls), retry_after_ms);
  // A grant may wait for days before its first call, in a campaign.
  const since = grant.cancel_requested_at ?? grant.first_called_at ?? grant.created_at;
  return {
    next_attempt_at: new Date(now.getTime() + pause_ms),
    needs_review: grant.needs_review || now.getTime() - since.getTime() >= REVIEW_AFTER_MS,
  };
}

/** What a call, or the reason not to make one, leads to. */
export type Conclusion =
  /** The platform has said what became of the bonus. */
  | { kind: 'report'; report: GrantReport }
  /** The call is made again later. `is_made`: false when there was none, so that it does not count. */
  | {
      kind: 'retry';
      certainty: 'unsent' | 'unknown';
      code: string;
      message: string;
      retry_after_ms?: number;
      is_made: boolean;
    }
  /** The platform keeps the bonus although it was asked to cancel it. */
  | { kind: 'cancel_refused'; code: string; message: string }
  /** The bonus has ended at the platform, which does not say how. */
  | { kind: 'cancel_too_late' }
  /** Nothing was sent, and nothing may be. */
  | { kind: 'barred'; reason: string }
  /** Something may have been sent for a player who is protected now: it is to be cancelled. */
  | { kind: 'cancel_barred'; reason: string };

/** A conclusion that the platform, or a call that it did not answer, has led to. */
export function reported(
  grant_id: string,
  now: Date,
  name: GrantEventName,
  more: { platform_bonus_id?: string | null; reason?: string; data?: object; is_presumed?: true } = {},
): Extract<Conclusion, { kind: 'report' }> {
  const { platform_bonus_id = null, reason, data = {}, is_presumed } = more;
  const event = {
    name,
    at_ms: now.getTime(),
    ...(is_presumed === undefined ? {} : { is_presumed }),
    platform_bonus_id,
    ...(reason === undefined ? {} : { reason }),
  };
  // The same for every answer of this kind: it can move the grant only once.
  const event_id = v5(`answer ${name}`, grant_id);
  return { kind: 'report', report: { event, source: 'adapter', event_id, received_at: now, data } };
}

/**
 * Whether a crash may lose this conclusion: the intent is on disk, and a platform that has taken a grant answers the same
 * when the sender asks it again. The caller of a refused grant does not ask again, so a refusal must not be lost.
 */
export function isRepeatable({ claimed, conclusion }: Concluded): boolean {
  if (conclusion.kind !== 'report' || claimed.cancel_requested_at !== null) return false;
  const { name } = conclusion.report.event;
  return name === 'bonus.credited' || name === 'bonus.accepted';
}

/** The platform has refused the grant. */
export function rejected(grant_id: string, now: Date, { code, message }: Refused): Conclusion {
  return reported(grant_id, now, 'bonus.rejected', { reason: code, data: { code, message } });
}

/** A call that is made again. */
export function again(answer: Unsent | Unknown): Conclusion {
  if (answer.kind === 'unknown') {
    return {
      kind: 'retry',
      certainty: 'unknown',
      code: 'OUTCOME_UNKNOWN',
      message: answer.message,
      is_made: true,
    };
  }
  const { reason, message, retry_after_ms } = answer;
  return {
    kind: 'retry',
    certainty: 'unsent',
    code: UNSENT_CODES[reason],
    message,
    is_made: reason !== 'circuit',
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  };
}

const UNSENT_CODES: Readonly<Record<Unsent['reason'], string>> = {
  credentials: 'CREDENTIALS_REFUSED',
  busy: 'PLATFORM_BUSY',
  unreachable: 'PLATFORM_UNREACHABLE',
  circuit: 'PLATFORM_PAUSED',
};

const BY_STATUS: Readonly<Record<PlatformBonus['status'], GrantEventName>> = {
  pending: 'bonus.accepted',
  active: 'bonus.credited',
  completed: 'bonus.completed',
  forfeited: 'bonus.forfeited',
  expired: 'bonus.expired',
  lost: 'bonus.lost',
  cancelled: 'bonus.cancelled',
  failed: 'bonus.rejected',
};

/** The report that a status at the platform stands for; the same status gives the same event_id each time. */
export function reportOfStatus(bonus: PlatformBonus, source: EventSource, now: Date): GrantReport {
  const { grant_id, platform_bonus_id, status, updated_at, total_wagered, released_amount, amount } = bonus;
  return {
    event: {
      name: BY_STATUS[status],
      at_ms: updated_at.getTime(),
      platform_bonus_id,
      ...(total_wagered === undefined ? {} : { total_wagered }),
      ...(released_amount === undefined ? {} : { released_amount }),
      ...(amount === undefined ? {} : { amount }),
    },
    source,
    event_id: v5(`${status} ${updated_at.toISOString()}`, grant_id),
    received_at: now,
    data: { status, updated_at },
  };
}
