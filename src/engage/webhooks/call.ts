import { signatureHeaders } from '../../http/auth/webhook-signature.ts';
import { callOnce, type NoAnswer } from '../../platform/egress/call-once.ts';
import { EGRESS_REFUSED, type Egress } from '../../platform/egress/egress.ts';
import { readRetryAfter } from '../../platform/retry-after.ts';

const MAX_ANSWER_BYTES = 64 * 1024;

/** One attempt to deliver a webhook. */
export interface Attempt {
  url: string;
  /** The node's own headers. */
  headers: Readonly<Record<string, string>>;
  payload: string;
  event_id: string;
  attempt: number;
  secret: string;
  /** A subscription's, not a journey's. */
  is_of_subscription: boolean;
  /** For the whole attempt, from the look-up of the name to the end of the answer. */
  timeout_ms: number;
  now_ms: number;
}

/**
 * How an attempt has ended. `stopped`: by this process; whether the receiver has got it is not known. `barred`: it was
 * not made, and never will be, because of what the player is now. `behind`: it was not made yet.
 */
export interface AttemptOutcome {
  kind: 'delivered' | 'retry' | 'failed' | 'stopped' | 'barred' | 'behind';
  status: number | null;
  /** A code; null: delivered. */
  error: string | null;
  /** The code of the network error, or `HTTP <status>`. */
  reason: string | null;
  retry_after_ms: number | null;
  /** The answer, cut off at 64 KiB; null: there is none. */
  text: string | null;
  is_cut: boolean;
}

const NOTHING = { status: null, retry_after_ms: null, text: null, is_cut: false };

/** Headers that a node cannot set: those of the service and of the connection. */
const RESERVED =
  /^(?:x-service-.*|content-type|content-length|host|user-agent|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect)$/i;

/** Statuses after which the same request may succeed later, in addition to 5xx. */
const RETRIED = new Set([408, 425, 429]);
/** Those of receivers that do not know the secret: one of a subscription gets it after it has begun to sign. */
const UNKNOWN_SECRET = new Set([401, 403]);

/** An error that no attempt can avoid: the request itself is unusable. */
const UNUSABLE = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'ERR_INVALID_CHAR',
  'ERR_INVALID_URL',
]);

/** The headers of an attempt. */
function headersOf({ headers, payload, event_id, attempt, secret, now_ms }: Attempt): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => !RESERVED.test(name));
  return {
    ...Object.fromEntries(own),
    'Content-Type': 'application/json',
    ...signatureHeaders(secret, now_ms, payload),
    'X-Service-Event-Id': event_id,
    'X-Service-Attempt': String(attempt),
  };
}

/** A call that can be stopped. */
export interface Call {
  /** Never rejects. */
  outcome: Promise<AttemptOutcome>;
  stop(): void;
}

/** Posts once, without following redirects. */
export function callWebhook(egress: Egress, attempt: Attempt): Call {
  const stopped = new AbortController();
  return { outcome: post(egress, attempt, stopped.signal), stop: () => stopped.abort() };
}

async function post(egress: Egress, attempt: Attempt, signal: AbortSignal): Promise<AttemptOutcome> {
  const { url, payload, is_of_subscription, timeout_ms, now_ms } = attempt;
  const answer = await callOnce(egress, {
    method: 'POST',
    url,
    headers: headersOf(attempt),
    body: payload,
    timeout_ms,
    max_answer_bytes: MAX_ANSWER_BYTES,
    signal,
  });
  if (answer.kind === 'unanswered') return unanswered(answer);
  const { status, header, body, is_cut, broken } = answer;
  // A status other than success decides, and the text does not count.
  if (broken !== null && (broken.why === 'aborted' || isSuccess(status))) return unanswered(broken);
  const retry_after_ms = readRetryAfter(header('retry-after'), now_ms);
  const rest = { text: body.toString(), is_cut: is_cut || broken !== null, retry_after_ms };
  return outcomeOf(status, is_of_subscription, rest);
}

function unanswered({ why, code }: NoAnswer): AttemptOutcome {
  if (why === 'aborted') return { ...NOTHING, kind: 'stopped', error: 'INTERRUPTED', reason: null };
  if (why === 'timeout') return { ...NOTHING, kind: 'retry', error: 'WEBHOOK_TIMEOUT', reason: null };
  if (code === EGRESS_REFUSED) return { ...NOTHING, kind: 'failed', error: EGRESS_REFUSED, reason: null };
  if (UNUSABLE.has(code))
    return { ...NOTHING, kind: 'failed', error: 'WEBHOOK_REQUEST_INVALID', reason: code };
  return { ...NOTHING, kind: 'retry', error: 'WEBHOOK_CONNECTION_FAILED', reason: code };
}

const isSuccess = (status: number) => status >= 200 && status < 300;

/** What a status means. */
export function outcomeOf(
  status: number,
  is_of_subscription: boolean,
  rest: Pick<AttemptOutcome, 'text' | 'is_cut' | 'retry_after_ms'>,
): AttemptOutcome {
  if (isSuccess(status)) return { kind: 'delivered', status, error: null, reason: null, ...rest };
  const answer = { status, reason: `HTTP ${status}`, ...rest };
  const is_retried =
    status >= 500 || RETRIED.has(status) || (is_of_subscription && UNKNOWN_SECRET.has(status));
  if (is_retried) return { kind: 'retry', error: 'WEBHOOK_HTTP_ERROR', ...answer };
  const error = status >= 300 && status < 400 ? 'WEBHOOK_REDIRECTED' : 'WEBHOOK_HTTP_ERROR';
  return { kind: 'failed', error, ...answer };
}
