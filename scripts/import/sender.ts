import { ApiError, call, type ClientOptions, type Operation } from '../../clients/js/src/admin.ts';
import type { AcceptedEvent } from '../../src/ingest/events/envelope.ts';
import type { BatchResult } from '../../src/ingest/intake/accept.ts';
import { retryPauseMs, type RetrySchedule } from '../../src/platform/retry-pause.ts';
import type { BatchEvent } from './batches.ts';
import type { Pace } from './pace.ts';
import { ImportError, type Refusal } from './refusal.ts';

const SEND_BATCH: Operation = { method: 'POST', path: '/v1/events/batch', flags: 'bi', int64: [] };

/** The pauses between attempts at a batch; Retry-After may ask for longer ones. */
const PAUSES: RetrySchedule = {
  first_ms: 500,
  longest_ms: 30_000,
  jitter_percent: 20,
  longest_asked_ms: 600_000,
};

/** An accepted event; the two values name it at the API. */
export type EventRef = Pick<AcceptedEvent, 'ingestion_id' | 'index'>;

/** What the service said to the events of a batch. */
export interface Answered {
  accepted: number;
  refused: (Refusal & { line: number; event: string })[];
  /** Of the requests that had accepted events; several where a batch was too large and was divided. */
  ingestion_ids: string[];
  /** The last accepted event. */
  last: EventRef | undefined;
}

const NOTHING: Answered = { accepted: 0, refused: [], ingestion_ids: [], last: undefined };

/** A batch that has to be sent again. */
export interface Retry {
  attempt: number;
  attempts: number;
  pause_ms: number;
  message: string;
}

export interface SenderOptions {
  client: ClientOptions;
  pace: Pace;
  /** How often a batch is sent before the import stops. */
  attempts: number;
  stop: AbortSignal;
  onRetry: (retry: Retry) => void;
}

/** Sends batches until the service has accepted or refused each event. */
export class Sender {
  readonly #options: SenderOptions;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Sends the events of a batch, again while the answer is 429, 5xx or none. The same bytes are sent again, so what the
   * first attempt has brought counts once. Rejects with ImportError when there is no answer after all attempts, or
   * when no event can be accepted at all: a wrong key or address.
   */
  async send(events: readonly BatchEvent[]): Promise<Answered> {
    if (events.length === 0) return NOTHING;
    const { pace, attempts, stop, onRetry } = this.#options;
    for (let attempt = 1; ; attempt++) {
      await pace.take(events.length, stop);
      const sent_ms = performance.now();
      try {
        const result = await this.#post(events);
        pace.answered(performance.now() - sent_ms);
        return answeredOf(events, result);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 413) return this.#divide(events, error);
        if (!error.is_temporary || attempt >= attempts) throw stopped(error, attempt);
        const pause_ms = retryPauseMs(PAUSES, {
          attempt,
          jitter: Math.random(),
          asked_ms: (error.retry_after_s ?? 0) * 1_000,
        });
        pace.refused(pause_ms);
        onRetry({ attempt, attempts, pause_ms, message: describe(error) });
      }
    }
  }

  async #post(events: readonly BatchEvent[]): Promise<BatchResult> {
    const body = `{"events":[${events.map(({ json }) => json).join(',')}]}`;
    const { client, stop } = this.#options;
    return (await call(client, SEND_BATCH, [body, { signal: stop }])) as BatchResult;
  }

  /** An event that is too large alone is refused; among others it must not take them with it. */
  async #divide(events: readonly BatchEvent[], { code, message }: ApiError): Promise<Answered> {
    const [only, ...others] = events;
    if (only !== undefined && others.length === 0) {
      const { line, event } = only;
      return { ...NOTHING, refused: [{ line, event, code, reason: message }] };
    }
    const middle = Math.ceil(events.length / 2);
    const first = await this.send(events.slice(0, middle));
    const second = await this.send(events.slice(middle));
    return {
      accepted: first.accepted + second.accepted,
      refused: [...first.refused, ...second.refused],
      ingestion_ids: [...first.ingestion_ids, ...second.ingestion_ids],
      last: second.last ?? first.last,
    };
  }
}

function answeredOf(
  events: readonly BatchEvent[],
  { ingestion_id, accepted, rejected }: BatchResult,
): Answered {
  const refused = rejected.map(({ index, code, reason }) => {
    const one = events[index];
    if (one === undefined) throw new ImportError(`the service refused event ${index}, which the batch lacks`);
    return { line: one.line, event: one.event, code, reason };
  });
  if (accepted === 0) return { ...NOTHING, refused };
  const refused_at = new Set(rejected.map(({ index }) => index));
  let index = events.length - 1;
  while (refused_at.has(index)) index--;
  return { accepted, refused, ingestion_ids: [ingestion_id], last: { ingestion_id, index } };
}

function describe({ status, code, message }: ApiError): string {
  return `${status === 0 ? '' : `${status} `}${code}: ${message}`;
}

function stopped(error: ApiError, attempts: number): ImportError {
  const after = attempts > 1 ? ` after ${attempts} attempts` : '';
  return new ImportError(`stopped${after}: ${describe(error)}`);
}
