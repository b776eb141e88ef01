import type { ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import { keyClientOf } from '../../http/auth/key-clients.ts';
import { toApiError } from '../../http/error-handler.ts';
import type { RejectedEvents } from './rejected-events.ts';

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

/** The name of an event as it was sent. */
export function nameIn(sent: unknown): unknown {
  return typeof sent === 'object' && sent !== null ? (sent as { event?: unknown }).event : undefined;
}
