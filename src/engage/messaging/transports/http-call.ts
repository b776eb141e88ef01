import { EGRESS_REFUSED, type Egress } from '../../../platform/egress/egress.ts';
import { readRetryAfter } from '../../../platform/retry-after.ts';
import type { Outcome } from '../../providers/message.ts';
import { faultOf, type AnswerRules } from './answers.ts';

/** From the call to the last byte of the answer; longer than the 10 s that fetch allows for connecting. */
const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** One request to a provider. */
export interface HttpCall {
  egress: Egress;
  url: string;
  headers: Record<string, string>;
  body: string;
  timeout_ms?: number;
}

/** An answer: the status and the text, cut off at 64 KiB; `text` null: the connection broke before its end. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string | null;
}

/** No answer. `not_sent` true: the request certainly did not leave; false: the provider may have acted on it. */
export interface NoAnswer {
  not_sent: boolean;
  reason: string;
}

/** Errors that occur before a request leaves: of name resolution, connections and certificates. */
const BEFORE_SENDING = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'BAD_PORT',
  EGRESS_REFUSED,
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
const OF_TLS = /^ERR_(?:SSL|TLS)_/;

/** Posts once; never rejects. It follows no redirects, which would send the credentials to another host. */
export async function post({
  egress,
  url,
  headers,
  body,
  timeout_ms = TIMEOUT_MS,
}: HttpCall): Promise<HttpAnswer | NoAnswer> {
  const signal = AbortSignal.timeout(timeout_ms);
  let response: Awaited<ReturnType<Egress['fetch']>>;
  try {
    response = await egress.fetch(url, { method: 'POST', headers, body, signal });
  } catch (error) {
    const code = codeOf(error);
    return { not_sent: BEFORE_SENDING.has(code) || OF_TLS.test(code), reason: code };
  }
  const text = await textOf(response).catch(() => null);
  return { status: response.status, headers: response.headers, text };
}

/** The fault of a request that the egress guard refused; none for other reasons. */
export function egressFaultOf(reason: string): { fault?: { code: string; text: null } } {
  return reason === EGRESS_REFUSED ? { fault: { code: reason, text: null } } : {};
}

/**
 * The outcome that an answer stands for. A 2xx is a success, whatever the text contains; `idOf` reads the provider's id
 * from it, if there is one. After a status that is uncertain by the provider's rules the outcome is unknown. Otherwise
 * 408, 429 and 5xx may be retried; any other status is a refusal: of the credentials by the provider's rules, or else of
 * the message. What the egress guard refuses was not sent and concerns the provider, so it is retried too, with that
 * reason as the fault.
 */
export function outcomeOf(
  answer: HttpAnswer | NoAnswer,
  rules: AnswerRules,
  now_ms: number,
  idOf: (text: string, headers: Headers) => string | null,
): Outcome {
  if ('not_sent' in answer) {
    const { not_sent, reason } = answer;
    if (!not_sent) return { kind: 'unknown', reason };
    return { kind: 'retry', reason, retry_after_ms: null, ...egressFaultOf(reason) };
  }
  const { status, headers, text } = answer;
  if (status >= 200 && status < 300) {
    const id = text === null ? null : attempted(() => idOf(text, headers));
    return { kind: 'sent', provider_message_id: id };
  }
  const reason = `HTTP ${status}`;
  const fault = faultOf(rules, status, text);
  if (rules.uncertain.has(status)) return { kind: 'unknown', reason, fault };
  if (status === 408 || status === 429 || status >= 500) {
    return { kind: 'retry', reason, fault, retry_after_ms: retryAfterMs(headers.get('retry-after'), now_ms) };
  }
  if (rules.ofCredentials(status, fault.code))
    return { kind: 'retry', reason, fault, retry_after_ms: null, is_of_credentials: true };
  const suppresses = rules.suppressionOf?.(fault.code, text);
  return { kind: 'rejected', reason, fault, ...(suppresses && { suppresses }) };
}

/** The pause that a provider asks for in Retry-After, in milliseconds, at most a day; null without a valid header. */
export function retryAfterMs(header: string | null, now_ms: number): number | null {
  const ms = readRetryAfter(header, now_ms);
  return ms === null ? null : Math.min(ms, MAX_RETRY_AFTER_MS);
}

/** A text field of a JSON object; null unless it is a text of 1 to 500 characters. Throws for text that is not JSON. */
export function jsonText(text: string, field: string): string | null {
  const parsed: unknown = JSON.parse(text);
  const value =
    typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>)[field] : null;
  return typeof value === 'string' && value !== '' && value.length <= 500 ? value : null;
}

async function textOf(response: { body: unknown }): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
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

/** The code of an error. Its message is never used, because it may quote the request. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'ERROR';
  if (error.name === 'TimeoutError') return 'TIMEOUT';
  const { cause } = error as { cause?: { code?: unknown; message?: string; errors?: { code?: unknown }[] } };
  // The error for a port that fetch refuses has no code.
  if (cause?.message === 'bad port') return 'BAD_PORT';
  const code = cause?.code ?? cause?.errors?.[0]?.code;
  return typeof code === 'string' ? code : error.name;
}
