import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { ApiError, validationError } from '../../../errors.ts';
import type { SignedRequest } from '../../../http/endpoint.ts';
import { isUuid } from '../../../platform/ids.ts';
import type { Fault } from '../../providers/message.ts';
import { enhancedCodeOf, faultFrom } from '../transports/answers.ts';
import type { Callback, Step, SuppressionReason } from './callback-queries.ts';

/** The largest difference between a signature's time and ours, in either direction (spec part 8). */
const WINDOW_S = 300;
const SIGNATURE = 'x-twilio-email-event-webhook-signature';
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp';

/** SendGrid's events by the status that they report; other events (processed, deferred, …) change nothing. */
const STEPS: ReadonlyMap<string, Step> = new Map([
  ['delivered', 'delivered'],
  ['open', 'opened'],
  ['click', 'clicked'],
  ['bounce', 'bounced'],
  ['dropped', 'failed'],
]);
const SUPPRESSIONS: ReadonlyMap<string, SuppressionReason> = new Map([
  ['spamreport', 'complaint'],
  ['unsubscribe', 'unsubscribe'],
  ['group_unsubscribe', 'unsubscribe'],
]);
/** How SendGrid's reasons begin, in lower case, for which it drops a message because of an earlier event. */
const DROPPED: readonly (readonly [string, SuppressionReason])[] = [
  ['unsubscribed', 'unsubscribe'],
  ['spam report', 'complaint'],
  ['bounced', 'bounce'],
];
/** A mailbox that is full takes messages again one day, and so may a server that delays them (4.x.x). */
const FOR_A_TIME = /^(?:5\.2\.2|4\.\d{1,3}\.\d{1,3})$/;
const FULL = /\b(?:mailbox|inbox) (?:is )?full\b|\bover ?quota\b|\bquota exceeded\b/i;

/**
 * Whether SendGrid signed the request with the private key that belongs to the configured `webhook_public_key` (SPKI as
 * base64 or PEM), at a time at most 5 minutes from ours: ECDSA with P-256 and SHA-256 over timestamp and body.
 */
export function isSignedBySendgrid(
  { headers, body }: SignedRequest,
  public_key: unknown,
  now_ms: number,
): boolean {
  const [signature, timestamp] = [headers[SIGNATURE], headers[TIMESTAMP]];
  if (typeof signature !== 'string' || typeof timestamp !== 'string') return false;
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now_ms - Number(timestamp) * 1000) > WINDOW_S * 1000)
    return false;
  const key = typeof public_key === 'string' ? readKey(public_key) : undefined;
  if (key === undefined) return false;
  const signed = Buffer.concat([Buffer.from(timestamp), body]);
  return verify('sha256', signed, key, Buffer.from(signature, 'base64'));
}

function readKey(text: string): KeyObject | undefined {
  const der = Buffer.from(text.replace(/-----[A-Z ]+-----/g, ''), 'base64');
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The callbacks of a signed body, one per event; undefined for an event that cannot be read or changes nothing. Such an
 * event is not an error, because SendGrid would repeat the whole batch again and again. Throws BODY_MALFORMED (not JSON) or
 * VALIDATION_ERROR (not a list).
 */
export function readSendgridBody(body: Buffer, now_ms: number): (Callback | undefined)[] {
  const events = parse(body);
  if (!Array.isArray(events)) throw validationError([{ path: '', message: 'must be a list of events' }]);
  return events.map((event) => readEvent(event, now_ms));
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (cause) {
    throw new ApiError('BODY_MALFORMED', 'the body is not valid JSON', { cause });
  }
}

function readEvent(event: unknown, now_ms: number): Callback | undefined {
  if (typeof event !== 'object' || event === null) return undefined;
  const fields = event as Record<string, unknown>;
  const { event: name, send_id, sg_message_id, email, timestamp } = fields;
  if (typeof name !== 'string') return undefined;
  const is_machine_open = name === 'open' && fields['sg_machine_open'] === true;
  const step = is_machine_open ? 'delivered' : STEPS.get(name);
  const fault = faultFrom(fields['status'], fields['reason']);
  const suppression = suppressionOf(name, fields['type'], fault);
  const lifts = name === 'group_resubscribe';
  if (step === undefined && suppression === undefined && !lifts) return undefined;
  // The part before the first dot is the id that SendGrid returned when the message was handed over.
  const [provider_message_id = ''] = storable(sg_message_id)?.split('.', 1) ?? [];
  return {
    send_id: typeof send_id === 'string' && isUuid(send_id) ? send_id : null,
    provider_message_id: provider_message_id === '' ? null : provider_message_id,
    // Messages that are handed over together share their id, so the address is needed to find the right one.
    address: storable(email)?.toLowerCase() ?? null,
    step: step ?? null,
    suppression: suppression ?? null,
    lifts,
    is_machine_open,
    fault,
    at_ms: isPast(timestamp, now_ms) ? timestamp * 1000 : now_ms,
  };
}

/** Why an event suppresses its address; a dropped message does as the event before it, for which it was dropped. */
function suppressionOf(name: string, type: unknown, fault: Fault): SuppressionReason | undefined {
  if (name === 'bounce') return isPermanent(type, fault) ? 'bounce' : undefined;
  if (name !== 'dropped') return SUPPRESSIONS.get(name);
  const reason = fault.text?.toLowerCase() ?? '';
  return DROPPED.find(([beginning]) => reason.startsWith(beginning))?.[1];
}

/** False for a blocked message, which may get through another day, and for a full mailbox; any other bounce is permanent. */
function isPermanent(type: unknown, { code, text }: Fault): boolean {
  const status = code ?? enhancedCodeOf(text ?? undefined) ?? '';
  return type !== 'blocked' && !FOR_A_TIME.test(status) && !FULL.test(text ?? '');
}

function storable(text: unknown): string | undefined {
  return typeof text === 'string' && text.length <= 512 && !text.includes('\0') ? text : undefined;
}

function isPast(seconds: unknown, now_ms: number): seconds is number {
  return Number.isInteger(seconds) && (seconds as number) > 0 && (seconds as number) * 1000 <= now_ms;
}
