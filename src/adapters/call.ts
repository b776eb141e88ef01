import { SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from '../http/auth/webhook-signature.ts';
import { EGRESS_REFUSED, type Egress } from '../platform/egress/egress.ts';
import { readRetryAfter } from '../platform/retry-after.ts';
import type { Heard } from './answers.ts';
import { MAX_ANSWER_BYTES } from './protocol.ts';

/** One signed call of a platform. */
export interface SignedCall {
  method: 'GET' | 'POST';
  url: string;
  /** Empty: a GET. */
  body: string;
  secret: string;
  /** The bearer token, if there is one. */
  token: string | undefined;
  /** Further headers. */
  headers: Readonly<Record<string, string>>;
  /** For the whole call, from the look-up of the name to the end of the answer. */
  timeout_ms: number;
  now_ms: number;
  /** The first byte leaves until then (`performance.now()`), or none does. */
  depart_by_ms: number;
}

/** The call was not made: it would have left after `depart_by_ms`. The connection that it waited for is open now. */
export interface Late {
  kind: 'late';
}

class TooLate extends Error {
  override readonly name = 'TooLate';
}

/** The codes of connections that nothing answers. */
const TIME_OUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);

/** The headers of a call (bonuses part 9). */
export function headersOf({
  method,
  body,
  secret,
  token,
  headers,
  now_ms,
}: SignedCall): Record<string, string> {
  const timestamp_s = Math.floor(now_ms / 1_000);
  return {
    ...headers,
    ...(method === 'POST' ? { 'Content-Type': 'application/json' } : {}),
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    Accept: 'application/json',
    'User-Agent': 'player-engagement-service',
    [SIGNATURE_HEADER]: signatureOf(secret, timestamp_s, body),
    [TIMESTAMP_HEADER]: String(timestamp_s),
  };
}

/**
 * Makes the call once, without following redirects. Never rejects. Without an answer it is `unsent` when the platform
 * cannot have had a byte of it, and `unknown` otherwise: also when the answer is cut, or over 64 KiB.
 */
export async function callPlatform(egress: Egress, call: SignedCall): Promise<Heard | Late> {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), call.timeout_ms);
  let is_sent = false;
  try {
    const { statusCode, headers, body } = await egress.request(call.url, {
      method: call.method,
      headers: headersOf(call),
      ...(call.method === 'POST' ? { body: call.body } : {}),
      signal: ended.signal,
      onSend: () => {
        if (performance.now() > call.depart_by_ms) throw new TooLate();
        is_sent = true;
      },
    });
    const text = await textOf(body, headers['content-length']);
    if (text === undefined)
      return { kind: 'unknown', message: `HTTP ${statusCode} with a body that is cut or too long` };
    const retry_after = headers['retry-after'];
    const asked = typeof retry_after === 'string' ? retry_after : null;
    return { kind: 'answered', status: statusCode, text, retry_after_ms: readRetryAfter(asked, call.now_ms) };
  } catch (error) {
    if (error instanceof TooLate) return { kind: 'late' };
    const why = ended.signal.aborted ? `no answer within ${call.timeout_ms} ms` : codeOf(error);
    if (is_sent) return { kind: 'unknown', message: why };
    const is_time_out = ended.signal.aborted || TIME_OUTS.has(why);
    const unreachable = { kind: 'unsent', reason: 'unreachable', message: why } as const;
    return is_time_out ? { ...unreachable, is_time_out } : unreachable;
  } finally {
    clearTimeout(timer);
  }
}

/** The body; undefined when it is longer than may be read, or shorter than its announced length. */
async function textOf(
  body: AsyncIterable<Uint8Array> & { on(event: 'error', listener: () => void): unknown },
  content_length: string | string[] | undefined,
): Promise<string | undefined> {
  // Leaving the loop destroys the body, which reports that as an error.
  body.on('error', () => undefined);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) return undefined;
    chunks.push(chunk);
  }
  if (typeof content_length === 'string' && Number(content_length) !== bytes) return undefined;
  return Buffer.concat(chunks).toString();
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
  return found === EGRESS_REFUSED
    ? 'EGRESS_REFUSED: its address is not public'
    : typeof found === 'string'
      ? found
      : error.name;
}
