import { SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from '../../http/auth/webhook-signature.ts';
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
  /** For the whole attempt, from the look-up of the name to the end of the answer. */
  timeout_ms: number;
  now_ms: number;
}

/**
 * How an attempt has ended. `stopped`: by this process; whether the receiver has got it is not known. `barred`: it was
 * not made, and never will be, because of what the player is now. `behind`: it was not made yet.
 */
export interface Outcome {
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

/** Statuses after which the same request may succeed later, beside 5xx. */
const RETRIED = new Set([408, 425, 429]);

/** An error that no attempt can avoid: the request itself is unusable. */
const UNUSABLE = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'ERR_INVALID_CHAR',
  'ERR_INVALID_URL',
]);

/** The headers of an attempt. */
export function headersOf({
  headers,
  payload,
  event_id,
  attempt,
  secret,
  now_ms,
}: Attempt): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => !RESERVED.test(name));
  const timestamp_s = Math.floor(now_ms / 1_000);
  return {
    ...Object.fromEntries(own),
    'Content-Type': 'application/json',
    'User-Agent': 'player-engagement-service',
    [SIGNATURE_HEADER]: signatureOf(secret, timestamp_s, payload),
    [TIMESTAMP_HEADER]: String(timestamp_s),
    'X-Service-Event-Id': event_id,
    'X-Service-Attempt': String(attempt),
  };
}

/** A call that can be stopped. */
export interface Call {
  /** Never rejects. */
  outcome: Promise<Outcome>;
  stop(): void;
}

/** Posts once, without following redirects. */
export function callWebhook(egress: Egress, attempt: Attempt): Call {
  const ended = new AbortController();
  let why: 'timeout' | 'stopped' | undefined;
  const end = (reason: 'timeout' | 'stopped') => {
    why ??= reason;
    ended.abort();
  };
  const timer = setTimeout(() => end('timeout'), attempt.timeout_ms);
  const outcome = post(egress, attempt, ended.signal, () => why).finally(() => clearTimeout(timer));
  return { outcome, stop: () => end('stopped') };
}

async function post(
  egress: Egress,
  attempt: Attempt,
  signal: AbortSignal,
  why: () => 'timeout' | 'stopped' | undefined,
): Promise<Outcome> {
  const broken = (error: unknown): Outcome => {
    const reason = codeOf(error);
    if (why() === 'stopped') return { ...NOTHING, kind: 'stopped', error: 'INTERRUPTED', reason: null };
    if (why() === 'timeout') return { ...NOTHING, kind: 'retry', error: 'WEBHOOK_TIMEOUT', reason: null };
    if (reason === EGRESS_REFUSED) return { ...NOTHING, kind: 'failed', error: EGRESS_REFUSED, reason: null };
    if (UNUSABLE.has(reason)) return { ...NOTHING, kind: 'failed', error: 'WEBHOOK_REQUEST_INVALID', reason };
    return { ...NOTHING, kind: 'retry', error: 'WEBHOOK_CONNECTION_FAILED', reason };
  };
  try {
    const { url, payload, now_ms } = attempt;
    const init = { method: 'POST', headers: headersOf(attempt), body: payload, signal } as const;
    const { statusCode: status, headers, body } = await egress.request(url, init);
    let read: { text: string; is_cut: boolean };
    try {
      read = await textOf(body);
    } catch (error) {
      // A status that is no success decides, whatever the text would have been.
      if (why() === 'stopped' || (status >= 200 && status < 300)) return broken(error);
      read = { text: '', is_cut: true };
    }
    const retry_after = headers['retry-after'];
    const asked = typeof retry_after === 'string' ? retry_after : null;
    return outcomeOf(status, { ...read, retry_after_ms: readRetryAfter(asked, now_ms) });
  } catch (error) {
    return broken(error);
  }
}

/** What a status means. */
export function outcomeOf(
  status: number,
  rest: Pick<Outcome, 'text' | 'is_cut' | 'retry_after_ms'>,
): Outcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', status, error: null, reason: null, ...rest };
  const answer = { status, reason: `HTTP ${status}`, ...rest };
  if (status >= 500 || RETRIED.has(status)) return { kind: 'retry', error: 'WEBHOOK_HTTP_ERROR', ...answer };
  const error = status >= 300 && status < 400 ? 'WEBHOOK_REDIRECTED' : 'WEBHOOK_HTTP_ERROR';
  return { kind: 'failed', error, ...answer };
}

async function textOf(
  body: AsyncIterable<Uint8Array> & { on(event: 'error', listener: () => void): unknown },
): Promise<{ text: string; is_cut: boolean }> {
  // Leaving the loop destroys the body, which reports that as an error.
  body.on('error', () => undefined);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const room = MAX_ANSWER_BYTES - bytes;
    chunks.push(chunk.subarray(0, room));
    bytes += chunk.length;
    if (chunk.length > room) return { text: Buffer.concat(chunks).toString(), is_cut: true };
  }
  return { text: Buffer.concat(chunks).toString(), is_cut: false };
}

/** The code of an error. Its message is never used, because it may quote the request. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'ERROR';
  const { code, cause, errors } = error as {
    code?: unknown;
    cause?: { code?: unknown };
    errors?: { code?: unknown }[];
  };
  const found = code ?? cause?.code ?? errors?.[0]?.code;
  return typeof found === 'string' ? found : error.name;
}
