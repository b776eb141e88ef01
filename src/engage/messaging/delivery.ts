import type { Outcome } from '../providers/message.ts';
import type { Attempt, SendResultRow } from './messenger-queries.ts';

/** Retries of a message that certainly did not go out. */
export const MAX_RETRIES = 5;
const FIRST_PAUSE_MS = 5_000;
/** The longest pause before a retry, even if the provider asks for a longer one. */
const LONGEST_PAUSE_MS = 24 * 3_600_000;

/**
 * The result to write for the outcome of an attempt. Retries have pauses that double, or the
 * provider's pause if that is longer.
 */
export function resultOf({ send_id, attempts }: Attempt, outcome: Outcome, now_ms: number): SendResultRow {
  const failed = { ...NOTHING_LEFT, send_id, attempts } as const;
  switch (outcome.kind) {
    case 'sent': {
      const { provider_message_id } = outcome;
      return { ...failed, status: 'sent', error_code: null, provider_message_id, counts: true };
    }
    case 'rejected':
      return { ...failed, status: 'failed', error_code: 'PROVIDER_REJECTED' };
    case 'unknown':
      return { ...failed, status: 'failed', error_code: 'OUTCOME_UNKNOWN', counts: true };
    case 'retry': {
      if (attempts > MAX_RETRIES) return { ...failed, status: 'failed', error_code: 'PROVIDER_UNAVAILABLE' };
      const retry_at = new Date(now_ms + pauseMs(attempts, outcome.retry_after_ms));
      return { ...failed, status: 'queued', error_code: null, retry_at };
    }
  }
}

/** The pause after so many attempts, in milliseconds; `asked_ms`: the pause that the provider asked for. */
export function pauseMs(attempts: number, asked_ms: number | null): number {
  const own_ms = FIRST_PAUSE_MS * 2 ** (attempts - 1);
  return Math.min(Math.max(own_ms, asked_ms ?? 0), LONGEST_PAUSE_MS);
}

/** The result of a message that was not handed over, for a reason outside of it: it is queued again. */
export function requeued({ send_id, attempts }: Attempt): SendResultRow {
  return { ...NOTHING_LEFT, send_id, attempts, status: 'queued', error_code: null };
}

/** The result of a message that could not be rendered, or whose body is blank. */
export function renderFailed({ send_id, attempts }: Attempt): SendResultRow {
  return { ...NOTHING_LEFT, send_id, attempts, status: 'failed', error_code: 'TEMPLATE_FAILED' };
}

const NOTHING_LEFT = { provider_message_id: null, retry_at: null, counts: false } as const;
