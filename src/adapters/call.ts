import { signatureHeaders } from '../http/auth/webhook-signature.ts';
import { callOnce, type NoAnswer } from '../platform/egress/call-once.ts';
import { EGRESS_REFUSED, type Egress } from '../platform/egress/egress.ts';
import { readRetryAfter } from '../platform/retry-after.ts';
import type { Heard } from './answers.ts';
import type { Unknown, Unsent } from './platform.ts';
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

const NOT_PUBLIC = `${EGRESS_REFUSED}: its address is not public`;

/** The codes of connections that nothing answers. */
const TIME_OUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);

/** The headers of a call (bonuses part 9). */
function headersOf({ method, body, secret, token, headers, now_ms }: SignedCall): Record<string, string> {
  return {
    ...headers,
    ...(method === 'POST' ? { 'Content-Type': 'application/json' } : {}),
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    Accept: 'application/json',
    ...signatureHeaders(secret, now_ms, body),
  };
}

/**
 * Makes the call once, without following redirects. Never rejects. Without an answer it is `unsent` when the platform
 * cannot have had a byte of it, and `unknown` otherwise: also when the answer is cut, or over 64 KiB.
 */
export async function callSigned(egress: Egress, call: SignedCall): Promise<Heard | Late> {
  const { method, url, body, timeout_ms, depart_by_ms, now_ms } = call;
  const answer = await callOnce(egress, {
    method,
    url,
    headers: headersOf(call),
    ...(method === 'POST' ? { body } : {}),
    timeout_ms,
    max_answer_bytes: MAX_ANSWER_BYTES,
    depart_by_ms,
  });
  if (answer.kind === 'unanswered') return unanswered(answer, timeout_ms);
  const { status, header, body: read, is_cut, broken } = answer;
  if (broken !== null) return unanswered(broken, timeout_ms);
  const announced = header('content-length');
  if (is_cut || (announced !== null && Number(announced) !== read.length))
    return { kind: 'unknown', message: `HTTP ${status} with a body that is cut or too long` };
  const retry_after_ms = readRetryAfter(header('retry-after'), now_ms);
  return { kind: 'answered', status, text: read.toString(), retry_after_ms };
}

function unanswered({ why, code, may_have_left }: NoAnswer, timeout_ms: number): Unknown | Unsent | Late {
  if (why === 'late') return { kind: 'late' };
  const of_error = code === EGRESS_REFUSED ? NOT_PUBLIC : code;
  const message = why === 'timeout' ? `no answer within ${timeout_ms} ms` : of_error;
  if (may_have_left) return { kind: 'unknown', message };
  const is_time_out = why === 'timeout' || TIME_OUTS.has(code);
  const unreachable = { kind: 'unsent', reason: 'unreachable', message } as const;
  return is_time_out ? { ...unreachable, is_time_out } : unreachable;
}
