import { callOnce } from '../../../platform/egress/call-once.ts';
import { destinationOf, EGRESS_REFUSED, type Egress } from '../../../platform/egress/egress.ts';
import { readRetryAfter } from '../../../platform/retry-after.ts';
import type { SendOutcome } from '../../providers/message.ts';
import { faultOf, type AnswerRules } from './answers.ts';

/** From the call to the last byte of the answer; longer than the 10 s that a connection may take to open. */
const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** One request to a provider. */
export interface ProviderPost {
  egress: Egress;
  url: string;
  headers: Record<string, string>;
  body: string;
  timeout_ms?: number;
}

/** An answer: the status and the text, cut off at 64 KiB; `text` null: the connection broke before its end. */
export interface ProviderAnswer {
  status: number;
  /** A header by its name in lower case; null: absent. */
  header: (name: string) => string | null;
  text: string | null;
}

/** No answer. `not_sent` true: the request certainly did not leave; false: the provider may have acted on it. */
export interface NoProviderAnswer {
  not_sent: boolean;
  reason: string;
}

/**
 * Errors before a request leaves: of name resolution, connections and certificates. With any other error it counts as
 * perhaps sent, also where nothing of it can have left.
 */
const BEFORE_SENDING = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  EGRESS_REFUSED,
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
const OF_TLS = /^ERR_(?:SSL|TLS)_/;

/** The ports of other protocols, to which browsers send no HTTP either (the Fetch standard). */
const BAD_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** Posts once; never rejects. It follows no redirects, which would send the credentials to another host. */
export async function postToProvider({
  egress,
  url,
  headers,
  body,
  timeout_ms = TIMEOUT_MS,
}: ProviderPost): Promise<ProviderAnswer | NoProviderAnswer> {
  const usable = usableHeaders(headers);
  if (usable === undefined) return { not_sent: false, reason: 'TypeError' };
  if (isBadPort(url)) return { not_sent: true, reason: 'BAD_PORT' };
  const max_answer_bytes = MAX_ANSWER_BYTES;
  const call = { method: 'POST', url, headers: usable, body, timeout_ms, max_answer_bytes } as const;
  const answer = await callOnce(egress, call);
  if (answer.kind === 'answered') {
    const { status, header, broken } = answer;
    return { status, header, text: broken === null ? answer.body.toString() : null };
  }
  const reason = answer.why === 'timeout' ? 'TIMEOUT' : answer.code;
  const is_before = BEFORE_SENDING.has(reason) || OF_TLS.test(reason);
  return { not_sent: is_before && !answer.may_have_left, reason };
}

function isBadPort(url: string): boolean {
  try {
    return BAD_PORTS.has(destinationOf(url).port);
  } catch {
    // The egress guard says why.
    return false;
  }
}

/** The headers without white space around their values; undefined: credentials have a character that none can have. */
function usableHeaders(headers: Record<string, string>): Record<string, string> | undefined {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    return undefined;
  }
}

/** The fault of a request that the egress guard refused; none for other reasons. */
export function egressFaultOf(reason: string): { fault?: { code: string; text: null } } {
  return reason === EGRESS_REFUSED ? { fault: { code: reason, text: null } } : {};
}

/**
 * The outcome that an answer stands for. A 2xx is a success, even if the text reports an error; `idOf` reads the provider's id
 * from it, if there is one. After a status that is uncertain by the provider's rules the outcome is unknown. Otherwise
 * 408, 429 and 5xx may be retried; any other status is a refusal: of the credentials by the provider's rules, or else of
 * the message. What the egress guard refuses was not sent and concerns the provider, so it is retried too, with that
 * reason as the fault.
 */
export function outcomeOf(
  answer: ProviderAnswer | NoProviderAnswer,
  rules: AnswerRules,
  now_ms: number,
  idOf: (text: string, header: ProviderAnswer['header']) => string | null,
): SendOutcome {
  if ('not_sent' in answer) {
    const { not_sent, reason } = answer;
    if (!not_sent) return { kind: 'unknown', reason };
    return { kind: 'retry', reason, retry_after_ms: null, ...egressFaultOf(reason) };
  }
  const { status, header, text } = answer;
  if (status >= 200 && status < 300) {
    const id = text === null ? null : attempted(() => idOf(text, header));
    return { kind: 'sent', provider_message_id: id };
  }
  const reason = `HTTP ${status}`;
  const fault = faultOf(rules, status, text);
  if (rules.uncertain.has(status)) return { kind: 'unknown', reason, fault };
  if (status === 408 || status === 429 || status >= 500) {
    return { kind: 'retry', reason, fault, retry_after_ms: retryAfterMs(header('retry-after'), now_ms) };
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

function attempted(work: () => string | null): string | null {
  try {
    return work();
  } catch {
    return null;
  }
}
