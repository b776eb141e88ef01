import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../../errors.ts';
import type { SignedRequest } from '../../../http/endpoint.ts';
import { isUuid } from '../../../platform/ids.ts';
import { trimEnd } from '../../../platform/trim-end.ts';
import { faultFrom, twilioSuppression } from '../transports/answers.ts';
import type { Callback, Reply, Step } from './callback-queries.ts';

/** Many times the size of a status callback; a larger body is refused. */
const MAX_BODY_BYTES = 65_536;

/** Twilio's statuses by the status that they report; others (accepted, queued, sending, …) change nothing. */
const STEPS: ReadonlyMap<string, Step> = new Map([
  ['sent', 'sent'],
  ['delivered', 'delivered'],
  ['read', 'opened'],
  ['undelivered', 'bounced'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
]);

/**
 * Whether Twilio signed the request with the account's `auth_token`: HMAC-SHA1 over the URL that it called and the
 * form's parameters sorted by name. `public_url`: the base URL under which Twilio reaches the service. The signature
 * contains no time, so a request can be replayed for ever; that is harmless, because applying it is idempotent. Throws
 * PAYLOAD_TOO_LARGE.
 */
export function isSignedByTwilio(
  { url, headers, body }: SignedRequest,
  auth_token: unknown,
  public_url: string,
): boolean {
  const signature = headers['x-twilio-signature'];
  if (body.length > MAX_BODY_BYTES) throw new ApiError('PAYLOAD_TOO_LARGE', 'the body is over 64 KiB');
  if (typeof signature !== 'string' || typeof auth_token !== 'string' || auth_token === '') return false;
  const parameters = signedText(new URLSearchParams(body.toString()));
  const given = Buffer.from(signature, 'base64');
  return spellingsOf(public_url).some((origin) => {
    const wanted = createHmac('sha1', auth_token).update(`${origin}${url}${parameters}`).digest();
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

/** Each parameter name followed by its distinct values, both sorted. */
function signedText(parameters: URLSearchParams): string {
  const byName = new Map<string, Set<string>>();
  for (const [name, value] of parameters) byName.set(name, (byName.get(name) ?? new Set()).add(value));
  return [...byName.keys()]
    .sort()
    .flatMap((name) => [...(byName.get(name) ?? [])].sort().map((value) => name + value))
    .join('');
}

/** The spellings of the base URL that Twilio may sign: some of its systems sign with the port, some without. */
function spellingsOf(public_url: string): string[] {
  const { protocol, hostname, port, pathname } = new URL(public_url);
  const path = trimEnd(pathname, '/');
  const usual = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return [public_url, `${protocol}//${hostname}${path}`, `${protocol}//${hostname}:${usual}${path}`];
}

/**
 * The callback of a signed body; undefined when its status changes nothing. The body has no time, so `now_ms` is used.
 */
export function readTwilioBody(
  body: Buffer,
  send_id: string | undefined,
  now_ms: number,
): Callback | undefined {
  const parameters = new URLSearchParams(body.toString());
  const status = parameters.get('MessageStatus') ?? parameters.get('SmsStatus') ?? '';
  const step = STEPS.get(status);
  if (step === undefined) return undefined;
  const fault = faultFrom(parameters.get('ErrorCode'), parameters.get('ErrorMessage'));
  return {
    send_id: send_id !== undefined && isUuid(send_id) ? send_id : null,
    provider_message_id: sidOf(parameters) ?? null,
    address: null,
    step,
    suppression: twilioSuppression(fault.code) ?? null,
    lifts: false,
    is_machine_open: false,
    fault,
    at_ms: now_ms,
  };
}

/** The words that stop messages and start them again, where Twilio does not say itself what a reply means. */
const STOP = new Set(['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT']);
const START = new Set(['START', 'YES', 'UNSTOP']);
const LONGEST_WORD = 40;

/**
 * The reply of a player in a signed body; `nothing` when it is a reply that stops and starts nothing, and undefined when
 * the body is not a reply.
 */
export function readTwilioReply(body: Buffer): Reply | 'nothing' | undefined {
  const parameters = new URLSearchParams(body.toString());
  if (parameters.get('SmsStatus') !== 'received') return undefined;
  const text = parameters.get('Body') ?? '';
  // With its advanced opt-out Twilio knows the words of each language and country.
  const said = parameters.get('OptOutType') ?? (text.length > LONGEST_WORD ? '' : text);
  const word = said.trim().toUpperCase();
  const from = parameters.get('From') ?? '';
  const message_id = sidOf(parameters);
  if (message_id === undefined || !/^\+?\d{5,20}$/.test(from)) return 'nothing';
  if (!STOP.has(word) && !START.has(word)) return 'nothing';
  return { from, wants_messages: START.has(word), message_id };
}

function sidOf(parameters: URLSearchParams): string | undefined {
  const sid = parameters.get('MessageSid') ?? parameters.get('SmsSid') ?? '';
  return /^\w{1,64}$/.test(sid) ? sid : undefined;
}
