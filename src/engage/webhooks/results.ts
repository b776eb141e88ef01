import {
  TransactionBatcher,
  type BatchLimits,
  type BatchOutcome,
} from '../../platform/transaction-batcher.ts';
import type { Platform } from '../../platform/platform.ts';
import { isDataError, retryConflicts } from '../../platform/postgres/retry.ts';
import type { ClaimedDelivery } from './claim-queries.ts';
import type { AttemptOutcome } from './call.ts';
import { writeResults, type AttemptResult } from './result-queries.ts';
import { jitterOf } from '../../platform/retry-pause.ts';
import { deliveryPauseMs } from './retry-schedule.ts';
import { exactJson, isExactNumber, parseExact, problemOf } from '../../platform/exact-json.ts';

/** How much of an answer is kept to show, in characters. */
const SHOWN_LENGTH = 1_000;
/** How deeply an answer may be nested that is kept in a run's context. */
const MAX_DEPTH = 64;
/** When a delivery comes due again whose player's events are not folded yet. */
const BEHIND_PAUSE_MS = 1_000;

/**
 * What happens to a delivery after an attempt. The jitter of a pause follows from delivery and attempt, so that
 * deliveries which failed together do not come back together.
 */
export function resultOf(delivery: ClaimedDelivery, outcome: AttemptOutcome, now_ms: number): AttemptResult {
  const { tenant_id, project_id, event_id, attempts, wait_for_response, save_as } = delivery;
  // If this one has failed.
  const failed = attempts - delivery.attempts_before;
  const is_void = outcome.kind === 'stopped';
  const is_behind = outcome.kind === 'behind';
  const is_pending = is_void || is_behind || (outcome.kind === 'retry' && failed < delivery.max_attempts);
  const { backoff_ms } = delivery;
  const jitter = jitterOf(event_id, attempts);
  const pause_ms =
    is_void || !is_pending
      ? 0
      : is_behind
        ? BEHIND_PAUSE_MS
        : deliveryPauseMs({ backoff_ms, failed, retry_after_ms: outcome.retry_after_ms }, jitter);
  const { player_id, subscription_id, run_id, seq } = delivery;
  const of_run = {
    tenant_id,
    project_id,
    player_id,
    subscription_id,
    run_id,
    seq,
    wait_for_response,
    save_as,
  };
  return {
    ...of_run,
    event_id,
    attempts,
    status: is_pending ? 'pending' : ENDED[outcome.kind],
    next_at: new Date(now_ms + pause_ms),
    is_void,
    was_not_sent: is_behind || outcome.kind === 'barred',
    last_status: outcome.status,
    last_error: outcome.error,
    last_reason: outcome.reason,
    response: outcome.text === null ? null : shown(outcome.text),
    saved:
      outcome.kind === 'delivered' && save_as !== null && !outcome.is_cut ? jsonOf(outcome.text ?? '') : null,
  };
}

/** The status of a delivery that is not attempted again. */
const ENDED = {
  delivered: 'delivered',
  barred: 'cancelled',
  failed: 'failed',
  retry: 'failed',
  stopped: 'failed',
  behind: 'failed',
} as const;

/** The beginning of an answer, without what Postgres cannot store. */
function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH).toWellFormed().replaceAll('\0', '\uFFFD');
}

/** The text as JSON that Postgres stores; null when it is not JSON, is nested too deeply, or has a number that cannot be stored. */
export function jsonOf(text: string): string | null {
  try {
    const value: unknown = parseExact(text);
    if (!isStorable(value, MAX_DEPTH)) return null;
    const json = exactJson(value);
    // NUL and halves of surrogate pairs.
    return /\\u0000|\\ud[89a-f]/i.test(json) ? null : json;
  } catch {
    return null;
  }
}

function isStorable(value: unknown, depth: number): boolean {
  if (typeof value === 'number' || isExactNumber(value)) return problemOf(value) === undefined;
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((child) => isStorable(child, depth - 1));
}

/** Results that wait while others are written: no more than attempts may be under way. One transaction at a time. */
const LIMITS: BatchLimits = {
  max_size: 200,
  overlap_after_ms: 60_000,
  waiting: { max_waiting: Infinity, max_waiting_of_group: Infinity, max_wait_ms: Infinity },
};

/** Writes results; those that end while others are written share the next transaction. */
export class ResultWriter {
  readonly #deps: Pick<Platform, 'postgres' | 'clock' | 'logger'>;
  readonly #batcher: TransactionBatcher<AttemptResult, undefined>;

  constructor(deps: Pick<Platform, 'postgres' | 'clock' | 'logger'>) {
    this.#deps = deps;
    this.#batcher = new TransactionBatcher(
      {
        kindOf: () => 'results',
        groupOf: ({ tenant_id }) => tenant_id,
        namesOf: ({ event_id }) => [event_id],
        runBatch: (results) => this.#writeAll(results),
      },
      LIMITS,
    );
  }

  /**
   * Resolves when the result is written, or when that has failed: then the attempt is made again once its claim is over.
   */
  async write(result: AttemptResult): Promise<void> {
    await this.#batcher.run(result);
  }

  /** Never rejects. */
  async #writeAll(results: readonly AttemptResult[]): Promise<BatchOutcome<undefined>[]> {
    await this.#writeBatch(results).catch((err: unknown) =>
      this.#deps.logger.warn({ err, results: results.length }, 'results of webhooks could not be written'),
    );
    return results.map(() => ({ kind: 'done', value: undefined }));
  }

  async #writeBatch(results: readonly AttemptResult[]): Promise<void> {
    try {
      await this.#transaction(results);
    } catch (error) {
      if (!isDataError(error)) throw error;
      // Some answer has what Postgres refuses: what it says is omitted, and the others are written as they are.
      for (const result of results) await this.#writeAlone(result);
    }
  }

  async #writeAlone(result: AttemptResult): Promise<void> {
    try {
      await this.#transaction([result]);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const { event_id } = result;
      this.#deps.logger.error({ event_id }, 'the answer to a webhook cannot be stored; it is omitted');
      await this.#transaction([{ ...result, response: null, saved: null }]);
    }
  }

  async #transaction(results: readonly AttemptResult[]): Promise<void> {
    const { postgres, clock } = this.#deps;
    await retryConflicts(() =>
      postgres.service.begin((tx) => writeResults(tx, results, new Date(clock.now_ms()))),
    );
  }
}
