import { v5 } from 'uuid';
import type { PlatformBonus, Refused, Unknown, Unsent } from '../../adapters/platform.ts';
import type { EventSource } from './grant-row.ts';
import type { GrantReport } from './apply.ts';
import type { GrantEventName } from './transition.ts';

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
