import { bucketOf } from '../../platform/bucket.ts';
import type { Platform } from '../../platform/platform.ts';
import { isDataError, retryConflicts } from '../../platform/postgres/retry.ts';
import type { ClaimedDelivery } from './claim-queries.ts';
import type { AttemptOutcome } from './call.ts';
import { writeResults, type AttemptResult } from './result-queries.ts';
import { deliveryPauseMs } from './retry-schedule.ts';
import { exactJson, isExactNumber, parseExact, problemOf } from '../../platform/exact-json.ts';

/** Results per transaction. */
const MAX_BATCH = 200;
/** How much of an answer is kept to show, in characters. */
const SHOWN_LENGTH = 1_000;
/** How deeply an answer may be nested that is kept in a run's context. */
const MAX_DEPTH = 64;
/** When a delivery comes due again whose player's events are not folded yet. */
const BEHIND_PAUSE_MS = 1_000;

/**
 * What becomes of a delivery after an attempt. The jitter of a pause follows from delivery and attempt, so that
 * deliveries which failed together do not come back together.
 */
export function resultOf(delivery: ClaimedDelivery, outcome: AttemptOutcome, now_ms: number): AttemptResult {
  const { tenant_id, project_id, event_id, attempts, run_id, node_id, seq, wait_for_response, save_as } =
    delivery;
  // If this one has failed.
  const failed = attempts - delivery.attempts_before;
  const is_void = outcome.kind === 'stopped';
  const is_behind = outcome.kind === 'behind';
  const is_pending = is_void || is_behind || (outcome.kind === 'retry' && failed < delivery.max_attempts);
  const { backoff_ms } = delivery;
  const jitter = bucketOf(`${event_id}:${attempts}`, JITTER_STEPS) / (JITTER_STEPS - 1);
  const pause_ms =
    is_void || !is_pending
      ? 0
      : is_behind
        ? BEHIND_PAUSE_MS
        : deliveryPauseMs({ backoff_ms, failed, retry_after_ms: outcome.retry_after_ms }, jitter);
  const of_run = { tenant_id, project_id, run_id, node_id, seq, wait_for_response, save_as };
  return {
    ...of_run,
    event_id,
    attempts,
    status: is_pending ? 'pending' : ENDED[outcome.kind],
    next_at: new Date(now_ms + pause_ms),
    is_void,
    is_unmade: is_behind || outcome.kind === 'barred',
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

/** The text as JSON that Postgres stores; null when it is none, nested too deeply, or has a number that cannot be stored. */
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

const JITTER_STEPS = 1_001;

/** A result, and whom to tell when it is written or lost. */
interface Entry {
  result: AttemptResult;
  settle: () => void;
}

/** Writes results in batches: while one batch is written, the next one gathers. */
export class ResultWriter {
  readonly #deps: Pick<Platform, 'postgres' | 'clock' | 'logger'>;
  #waiting: Entry[] = [];
  #is_writing = false;

  constructor(deps: Pick<Platform, 'postgres' | 'clock' | 'logger'>) {
    this.#deps = deps;
  }

  /**
   * Resolves when the result is written, or when that has failed: then the attempt is made again once its claim is over.
   */
  write(result: AttemptResult): Promise<void> {
    const written = new Promise<void>((settle) => this.#waiting.push({ result, settle }));
    // It never rejects.
    void this.#writeAll();
    return written;
  }

  async #writeAll(): Promise<void> {
    if (this.#is_writing) return;
    this.#is_writing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      this.#waiting = this.#waiting.slice(MAX_BATCH);
      try {
        await this.#writeBatch(batch.map(({ result }) => result));
      } catch (error) {
        this.#deps.logger.warn(
          { err: error, results: batch.length },
          'results of webhooks could not be written',
        );
      } finally {
        for (const { settle } of batch) settle();
      }
    }
    this.#is_writing = false;
  }

  async #writeBatch(results: readonly AttemptResult[]): Promise<void> {
    try {
      await this.#transaction(results);
    } catch (error) {
      if (!isDataError(error)) throw error;
      // Some answer has what Postgres refuses: what it says is left out, and the others are written as they are.
      for (const result of results) await this.#writeAlone(result);
    }
  }

  async #writeAlone(result: AttemptResult): Promise<void> {
    try {
      await this.#transaction([result]);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const { event_id } = result;
      this.#deps.logger.error({ event_id }, 'the answer to a webhook cannot be stored; it is left out');
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
