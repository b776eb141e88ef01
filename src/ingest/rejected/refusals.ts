import type { ErrorCode } from '../../errors.ts';
import type { ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import { keyClientOf } from '../../http/auth/key-clients.ts';
import { toApiError } from '../../http/error-handler.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { RejectedEvents, Rejection } from './rejected-events.ts';

/** What of a request tells who sent it. */
interface Sender {
  readonly id: string;
  readonly headers: { readonly 'user-agent'?: string | undefined };
}

/** The kind of the client that sent a request, for {@link RejectedEvents.note}. */
export function clientOf({ headers }: Pick<Sender, 'headers'>): string {
  return keyClientOf({ user_agent: headers['user-agent'] });
}

/**
 * The `onError` hook of a route whose requests have an API key once they are authenticated: notes each 4xx. Refusals of
 * callers without a good key are nobody's.
 */
export function refusalNoter<Request extends Sender>(
  rejected: Pick<RejectedEvents, 'note'>,
  keyOf: (request: Request) => ApiKeyPrincipal | undefined,
  sentIn: (request: Request) => unknown,
) {
  return (request: Request, _reply: unknown, thrown: Error, done: () => void): void => {
    const key = keyOf(request);
    const { code, status, message } = toApiError(thrown, request.id);
    if (key !== undefined && status < 500) {
      const sent = sentIn(request);
      // The time to wait differs each time.
      const reason = code === 'RATE_LIMITED' ? (message.split(';', 1)[0] ?? '') : message;
      rejected.note({ key, code, reason, name: nameIn(sent), sent, client: clientOf(request) });
    }
    done();
  };
}

/** An event of a batch that is refused; `index` is its place in the batch. */
export interface RejectedRow {
  index: number;
  code: ErrorCode;
  reason: string;
}

/** What a batch says about its refused events. */
interface RejectedBatch {
  key: Rejection['key'];
  /** All events of the batch, as they were sent. */
  events: readonly unknown[];
  /** See {@link Rejection}; called only when an event is refused. */
  clientOf: () => string;
  nameOf: (event: unknown) => unknown;
}

/** Counts the refused events of a batch, and notes them. */
export function noteRejected(
  { metrics, rejected }: { metrics: Pick<Metrics, 'eventsRejected'>; rejected: Pick<RejectedEvents, 'note'> },
  rows: readonly RejectedRow[],
  batch: RejectedBatch,
): void {
  if (rows.length === 0) return;
  const { key, events } = batch;
  const client = batch.clientOf();
  for (const { index, code, reason } of rows) {
    metrics.eventsRejected.inc({ code });
    const sent = events[index];
    rejected.note({ key, code, reason, name: batch.nameOf(sent), sent, index, client });
  }
}

/** The name of an event as it was sent. */
export function nameIn(sent: unknown): unknown {
  return typeof sent === 'object' && sent !== null ? (sent as { event?: unknown }).event : undefined;
}
