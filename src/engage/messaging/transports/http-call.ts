import { readRetryAfter } from '../../../platform/retry-after.ts';
import type { Outcome } from '../../providers/message.ts';

/** From the call to the last byte of the answer: longer than the 10 s in which a connection must be had. */
const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** One request to a provider. */
export interface HttpCall {
  url: string;
  headers: Record<string, string>;
  body: string;
  timeout_ms?: number;
}

/** What came back: the status and the text, which is cut off where it is too long. Null: it broke off. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string | null;
}

/** No answer: `not_sent` is certain, otherwise the provider may have acted. */
export interface NoAnswer {
  not_sent: boolean;
  reason: string;
}

/** Errors before a request can have left: of names, of connections, of certificates. */
const BEFORE_SENDING = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'BAD_PORT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
const OF_TLS = /^ERR_(?:SSL|TLS)_/;

/** Posts once; never rejects. Redirects are not followed: they would carry the credentials elsewhere. */
export async function post({
  url,
  headers,
  body,
  timeout_ms = TIMEOUT_MS,
}: HttpCall): Promise<HttpAnswer | NoAnswer> {
  const signal = AbortSignal.timeout(timeout_ms);
  let response: Response;
  try {
    response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
  } catch (error) {
    const code = codeOf(error);
    return { not_sent: BEFORE_SENDING.has(code) || OF_TLS.test(code), reason: code };
  }
  const text = await textOf(response).catch(() => null);
  return { status: response.status, headers: response.headers, text };
}

/**
 * What the answer means. A 2xx is a success, whatever the text says: `idOf` finds the provider's id in it if it can.
 * 408, 429 and 5xx may be tried again, anything else is a refusal.
 */
export function outcomeOf(
  answer: HttpAnswer | NoAnswer,
  now_ms: number,
  idOf: (text: string, headers: Headers) => string | null,
): Outcome {
  if ('not_sent' in answer) {
    const { not_sent, reason } = answer;
    return not_sent ? { kind: 'retry', reason, retry_after_ms: null } : { kind: 'unknown', reason };
  }
  const { status, headers, text } = answer;
  if (status >= 200 && status < 300) {
    const id = text === null ? null : attempted(() => idOf(text, headers));
    return { kind: 'sent', provider_message_id: id };
  }
  const reason = `HTTP ${status}`;
  if (status === 408 || status === 429 || status >= 500) {
    return { kind: 'retry', reason, retry_after_ms: retryAfterMs(headers.get('retry-after'), now_ms) };
  }
  return { kind: 'rejected', reason };
}

/** How long a provider asks to be left alone, at most a day; null where it does not say. */
export function retryAfterMs(header: string | null, now_ms: number): number | null {
  const ms = readRetryAfter(header, now_ms);
  return ms === null ? null : Math.min(ms, MAX_RETRY_AFTER_MS);
}

/** A text field of a JSON object; null where there is none. */
export function jsonText(text: string, field: string): string | null {
  const parsed: unknown = JSON.parse(text);
  const value =
    typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>)[field] : null;
  return typeof value === 'string' && value !== '' && value.length <= 500 ? value : null;
}

async function textOf(response: Response): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    // Leaving the loop gives the connection up.
    if (bytes > MAX_ANSWER_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function attempted(work: () => string | null): string | null {
  try {
    return work();
  } catch {
    return null;
  }
}

/** Codes of the driver, never its messages: those quote what was sent. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'ERROR';
  if (error.name === 'TimeoutError') return 'TIMEOUT';
  const { cause } = error as { cause?: { code?: unknown; message?: string; errors?: { code?: unknown }[] } };
  // Ports that fetch refuses to speak to have no code.
  if (cause?.message === 'bad port') return 'BAD_PORT';
  const code = cause?.code ?? cause?.errors?.[0]?.code;
  return typeof code === 'string' ? code : error.name;
}
