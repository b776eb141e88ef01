import { retryPauseMs } from '../../platform/retry-pause.ts';
import type { SendOutcome } from '../providers/message.ts';
import type { Attempt, SendResultRow } from './messenger-queries.ts';

/**
 * The pause of a message before its next attempt doubles from the first length to the longest. It is longer than the
 * back-off of its provider, so that another message probes the provider: one that always fails must not stop the others.
 * If several are due, one that was tried least makes the probe (`least_tried_first`).
 */
const SCHEDULE = { first_ms: 5_000, longest_ms: 15 * 60_000, longest_asked_ms: 24 * 3_600_000 };

/** An attempt with the moment until which its message may wait for the provider. */
export interface TimedAttempt extends Attempt {
  give_up_at: Date;
}

/**
 * The result to write for the outcome of an attempt. A message that certainly did not go out is retried after a pause,
 * its own or the one that the provider asks for if that is longer, until `give_up_at`; then it is PROVIDER_UNAVAILABLE.
 * After refused credentials it has no pause: no message is at fault, and all go out as soon as the credentials are mended.
 */
export function resultOf(attempt: TimedAttempt, outcome: SendOutcome, now_ms: number): SendResultRow {
  const { send_id, attempts, give_up_at } = attempt;
  const { code = null, text = null } = (outcome.kind === 'sent' ? undefined : outcome.fault) ?? {};
  const said = { provider_code: code, provider_message: text };
  const failed = { ...NOTHING_LEFT, ...said, send_id, attempts } as const;
  switch (outcome.kind) {
    case 'sent': {
      const { provider_message_id } = outcome;
      return { ...failed, status: 'sent', error_code: null, provider_message_id, counts: true };
    }
    case 'rejected':
      return {
        ...failed,
        status: 'failed',
        error_code: 'PROVIDER_REJECTED',
        suppresses: outcome.suppresses ?? null,
      };
    case 'unknown':
      return { ...failed, status: 'failed', error_code: 'OUTCOME_UNKNOWN', counts: true };
    case 'retry': {
      const until_ms = give_up_at.getTime();
      if (now_ms >= until_ms) return { ...failed, status: 'failed', error_code: 'PROVIDER_UNAVAILABLE' };
      if (outcome.is_of_credentials === true) return { ...failed, status: 'queued', error_code: null };
      const retry_at = new Date(Math.min(now_ms + sendPauseMs(attempts, outcome.retry_after_ms), until_ms));
      return { ...failed, status: 'queued', error_code: null, retry_at };
    }
  }
}

/** The pause after so many attempts, in milliseconds; `asked_ms`: the pause that the provider asked for. */
export function sendPauseMs(attempts: number, asked_ms: number | null): number {
  return retryPauseMs(SCHEDULE, { attempt: attempts, asked_ms });
}

/** The result of a message that was not handed over, for a reason outside of it: it is queued again. */
export function requeued({ send_id, attempts }: Attempt): SendResultRow {
  return { ...NOTHING_LEFT, send_id, attempts, status: 'queued', error_code: null };
}

/** The result of a message that could not be rendered, or whose body is blank. */
export function renderFailed({ send_id, attempts }: Attempt): SendResultRow {
  return { ...NOTHING_LEFT, send_id, attempts, status: 'failed', error_code: 'TEMPLATE_FAILED' };
}

const NOTHING_LEFT = {
  provider_message_id: null,
  provider_code: null,
  provider_message: null,
  retry_at: null,
  counts: false,
  suppresses: null,
} as const;
