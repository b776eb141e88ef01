import type { ErrorCode } from '../../errors.ts';
import type { ApiKeyKind } from '../../http/auth/queries.ts';
import { emptyIdMessage, isEmptyId } from '../../platform/empty-ids.ts';
import { exactJson, isExactNumber } from '../../platform/exact-json.ts';
import { parseTimestamp } from '../../platform/timestamp.ts';
import { isTimeZone } from '../../platform/time-zone.ts';
import { definitionOf } from '../events/catalogue.ts';
import { mayNotSend, maySend } from '../events/client-events.ts';
import { unsafeText } from '../events/text-safety.ts';
import {
  findContentProblem,
  findTimestampProblem,
  isIdText,
  type EventBody,
  type ValidationContext,
} from '../events/validate.ts';
import { nameOf, type EventNames } from './names.ts';

// The translation of calls of the Segment dialect into events and identify calls. Everything in this file is pure.

/** The kinds of calls. */
export const CALL_TYPES = ['track', 'identify', 'page', 'screen', 'group', 'alias'] as const;
export type CallType = (typeof CALL_TYPES)[number];

/** The longest JSON text of one call, in bytes of UTF-8. */
export const MAX_CALL_BYTES = 32 * 1024;
/** What is kept of a call's context, in bytes of JSON. */
export const MAX_CONTEXT_BYTES = 2 * 1024;
/** A client whose clock is off by more than this sends times that are corrected. */
export const CLOCK_TOLERANCE_MS = 60_000;
const MAX_MESSAGE_ID_LENGTH = 256;

/** What the translation depends on in addition to the call. */
export interface Translation extends ValidationContext {
  kind: ApiKeyKind;
  /** The project's own names of events. */
  names: EventNames;
  /** Whether `context.ip` is kept. */
  keeps_ip: boolean;
  /** When the request was sent by the clock of its sender, as the batch says. */
  sent_at?: unknown;
}

/** An event, of which the player of `user_id` is not known yet. */
export interface EventCall {
  kind: 'event';
  /** With an anonymous_id, unless there is a `user_id`. */
  event: EventBody;
  /** The external_id of the player. */
  user_id: string | undefined;
  message_id: string | undefined;
  /** The event has no time of its own that a repetition would have, too: it has none, or one that was corrected by when it came. */
  is_time_of_receipt: boolean;
}

/** What `identify` is to do. */
export interface IdentifyCall {
  kind: 'identify';
  external_id: string | undefined;
  anonymous_id: string | undefined;
  traits: Record<string, unknown>;
  /** When the traits were known: never after the call was received. */
  at_ms: number;
  user_hash: string | undefined;
}

/** Links `previous_id` to the player of `external_id`. */
export interface AliasCall {
  kind: 'alias';
  external_id: string;
  previous_id: string;
  at_ms: number;
  user_hash: string | undefined;
}

/** A call that is not accepted; `code` is one of errors.ts. */
export interface RejectedCall {
  kind: 'rejected';
  code: ErrorCode;
  reason: string;
}

export type Translated = EventCall | IdentifyCall | AliasCall | RejectedCall;

type Fields = Record<string, unknown>;

class CallRefused extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, reason: string) {
    super(reason);
    this.code = code;
  }
}

/**
 * Translates one call. `type` is that of the path; undefined in a batch, whose calls name theirs. `may_be_large`: the call may
 * be longer than {@link MAX_CALL_BYTES}. The call's own objects become parts of the result, and are changed. Never throws, for
 * any parsed JSON.
 */
export function translate(
  call: unknown,
  type: CallType | undefined,
  given: Translation,
  may_be_large: boolean,
): Translated {
  try {
    return translated(call, type, given, may_be_large);
  } catch (error) {
    if (error instanceof CallRefused) return { kind: 'rejected', code: error.code, reason: error.message };
    // JSON.stringify has come to the end of the stack.
    if (!(error instanceof RangeError)) throw error;
    return { kind: 'rejected', code: 'BODY_MALFORMED', reason: 'the call is nested too deeply' };
  }
}

function translated(
  input: unknown,
  type_of_path: CallType | undefined,
  given: Translation,
  may_be_large: boolean,
): Translated {
  if (!isObject(input)) throw new CallRefused('BODY_MALFORMED', 'a call is a JSON object');
  if (may_be_large && isLonger(input, MAX_CALL_BYTES))
    throw new CallRefused('PAYLOAD_TOO_LARGE', `a call has at most ${MAX_CALL_BYTES} bytes`);
  const type = type_of_path ?? input['type'];
  switch (type) {
    case 'track':
      return trackOf(input, given);
    case 'page':
    case 'screen':
      return viewOf(input, type, given);
    case 'group':
      return groupOf(input, given);
    case 'identify':
      return identifyOf(input, given);
    case 'alias':
      return aliasOf(input, given);
    default:
      throw new CallRefused('VALIDATION_ERROR', `type must be one of ${CALL_TYPES.join(', ')}`);
  }
}

/** Most values are much shorter: the most that they can have is counted faster than they are written. */
function isLonger(value: Fields, max_bytes: number): boolean {
  return mostBytes(value) > max_bytes && Buffer.byteLength(exactJson(value)) > max_bytes;
}

/** At least as many bytes as the value has as JSON. */
function mostBytes(value: unknown): number {
  // A character of a text may be written as \\u0000.
  if (typeof value === 'string') return value.length * 6 + 2;
  if (typeof value !== 'object' || value === null) return 24;
  if (isExactNumber(value)) return value.text.length;
  let bytes = 2;
  for (const key in value) bytes += key.length * 6 + 4 + mostBytes((value as Fields)[key]);
  return bytes;
}

function trackOf(call: Fields, given: Translation): EventCall {
  const { event: name } = call;
  if (typeof name !== 'string' || unsafeText(name))
    throw new CallRefused('PROPERTIES_INVALID', 'event must be the name of the event, a text');
  const named = nameOf(name, given.names);
  if (named === undefined) {
    const shown = JSON.stringify(name.slice(0, 64));
    throw new CallRefused('PROPERTIES_INVALID', `the name ${shown} has no letter and no digit`);
  }
  const properties = objectOf(call['properties'], 'properties');
  if (named.original !== undefined) properties['_name'] = named.original;
  return eventOf(call, named.event, properties, given);
}

/** Money is never guessed from a decimal: an event that has an `amount` of ours is not accepted with a `revenue` in its place. */
function requireAmount(event: string, { amount, revenue }: Fields): void {
  if (revenue === undefined || revenue === null || amount !== undefined) return;
  if (definitionOf(event)?.properties['amount'] === undefined) return;
  const message = `${event} needs properties.amount, an integer in the smallest unit of its currency: revenue is not read`;
  throw new CallRefused('PROPERTIES_INVALID', message);
}

const OF_PAGE = ['url', 'path', 'referrer', 'title', 'search'] as const;

function viewOf(call: Fields, surface: 'page' | 'screen', given: Translation): EventCall {
  const properties = objectOf(call['properties'], 'properties');
  for (const field of ['name', 'category'] as const) {
    const value = call[field];
    if (value !== undefined && value !== null) properties[field] = value;
  }
  properties['surface'] = surface;
  const page = isObject(call['context']) ? call['context']['page'] : undefined;
  if (isObject(page)) {
    for (const field of OF_PAGE)
      if (properties[field] === undefined && page[field] !== undefined && page[field] !== null)
        properties[field] = page[field];
  }
  return eventOf(call, 'page_view', properties, given);
}

function groupOf(call: Fields, given: Translation): EventCall {
  const group_id = idOf(call, 'groupId');
  if (group_id === undefined) throw new CallRefused('VALIDATION_ERROR', 'groupId is required');
  const properties = objectOf(call['traits'], 'traits');
  properties['group_id'] = group_id;
  return eventOf(call, 'custom_group', properties, given);
}

/** Events that are counted and have no id of their own. */
const COUNTED = new Set(['session_start']);

function eventOf(call: Fields, name: string, properties: Fields, given: Translation): EventCall {
  if (!maySend(given.kind, name)) throw new CallRefused('KEY_KIND_FORBIDDEN', mayNotSend(name));
  requireAmount(name, properties);
  const user_id = idOf(call, 'userId');
  const anonymous_id = user_id === undefined ? idOf(call, 'anonymousId') : undefined;
  if (user_id === undefined && anonymous_id === undefined)
    throw new CallRefused('IDENTITY_REQUIRED', 'give userId or anonymousId');
  const message_id = messageIdOf(call);
  if (message_id !== undefined && COUNTED.has(name) && properties['dedupe_id'] === undefined)
    properties['dedupe_id'] = message_id;
  const context = contextOf(call['context'], given.keeps_ip);
  if (context !== undefined) properties['context'] = context;
  const { timestamp, is_time_of_receipt } = timeOf(call, given);
  const event: EventBody = { event: name, properties };
  if (anonymous_id !== undefined) event.anonymous_id = anonymous_id;
  if (timestamp !== undefined) event.timestamp = timestamp;
  const problem = findContentProblem(event, given);
  if (problem !== undefined) throw new CallRefused(problem.code, problem.message);
  return { kind: 'event', event, user_id, message_id, is_time_of_receipt };
}

/** Traits of Segment that are ours under another name. */
const TRAITS: ReadonlyMap<string, string> = new Map([
  ['firstName', 'first_name'],
  ['lastName', 'last_name'],
  ['createdAt', 'created_at'],
]);

function identifyOf(call: Fields, given: Translation): IdentifyCall {
  const external_id = idOf(call, 'userId');
  const anonymous_id = idOf(call, 'anonymousId');
  if (external_id === undefined && anonymous_id === undefined)
    throw new CallRefused('IDENTITY_REQUIRED', 'give userId or anonymousId');
  const context = isObject(call['context']) ? call['context'] : {};
  // Some clients send them in one place, and some in the other.
  const sent = { ...objectOf(context['traits'], 'context.traits'), ...objectOf(call['traits'], 'traits') };
  const traits: Fields = Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [TRAITS.get(name) ?? name, value]),
  );
  const { timezone } = context;
  if (traits['timezone'] === undefined && typeof timezone === 'string' && isTimeZone(timezone))
    traits['timezone'] = timezone;
  const { at_ms } = checkedTimeOf(call, given);
  return { kind: 'identify', external_id, anonymous_id, traits, at_ms, user_hash: userHashOf(context) };
}

function aliasOf(call: Fields, given: Translation): AliasCall {
  const external_id = idOf(call, 'userId');
  const previous_id = idOf(call, 'previousId');
  if (external_id === undefined || previous_id === undefined)
    throw new CallRefused('IDENTITY_REQUIRED', 'alias needs userId and previousId');
  const context = isObject(call['context']) ? call['context'] : {};
  const { at_ms } = checkedTimeOf(call, given);
  return { kind: 'alias', external_id, previous_id, at_ms, user_hash: userHashOf(context) };
}

function userHashOf({ user_hash }: Fields): string | undefined {
  return typeof user_hash === 'string' ? user_hash : undefined;
}

/** An id of a caller; undefined where there is none: absent, null, without characters, or the text of an empty value. */
function idOf(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (value === undefined || value === null || value === '') return undefined;
  const id = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (!isIdText(id))
    throw new CallRefused('VALIDATION_ERROR', `${field} must be a text of 1 to 256 characters`);
  return isEmptyId(id) ? undefined : id;
}

function messageIdOf({ messageId: id }: Fields): string | undefined {
  if (id === undefined || id === null || id === '') return undefined;
  if (typeof id !== 'string' || id.length > MAX_MESSAGE_ID_LENGTH || unsafeText(id))
    throw new CallRefused(
      'VALIDATION_ERROR',
      `messageId must be a text of at most ${MAX_MESSAGE_ID_LENGTH} characters`,
    );
  // All calls of the program would be one.
  if (isEmptyId(id)) throw new CallRefused('VALIDATION_ERROR', emptyIdMessage('messageId', id));
  return id;
}

interface CallTime {
  /** The `timestamp` of the event; undefined: when it is received. */
  timestamp: string | undefined;
  is_time_of_receipt: boolean;
}

/**
 * The time of a call. That of a server is as it was sent: a corrected time would be another one in each repetition. The time of
 * a client whose clock is off is when it was received less its age when it was sent.
 */
function timeOf(call: Fields, { kind, now_ms, sent_at }: Translation): CallTime {
  const timestamp = call['timestamp'] ?? call['originalTimestamp'] ?? undefined;
  if (timestamp === undefined) return { timestamp: undefined, is_time_of_receipt: true };
  if (typeof timestamp !== 'string')
    throw new CallRefused('VALIDATION_ERROR', 'timestamp must be an ISO-8601 text');
  const sent = kind === 'client' ? (call['sentAt'] ?? sent_at) : undefined;
  const sent_at_ms = typeof sent === 'string' ? parseTimestamp(sent) : undefined;
  const as_sent = { timestamp, is_time_of_receipt: false };
  if (sent_at_ms === undefined || Math.abs(now_ms - sent_at_ms) <= CLOCK_TOLERANCE_MS) return as_sent;
  const at_ms = parseTimestamp(timestamp);
  if (at_ms === undefined) return as_sent;
  const corrected_ms = now_ms - (sent_at_ms - at_ms);
  return { timestamp: new Date(corrected_ms).toISOString(), is_time_of_receipt: true };
}

/** The time of a call that is no event; never after it was received. */
function checkedTimeOf(call: Fields, given: Translation): { at_ms: number } {
  const { timestamp } = timeOf(call, given);
  const problem = findTimestampProblem(timestamp, given.now_ms);
  if (problem !== undefined) throw new CallRefused(problem.code, problem.message);
  const at_ms = timestamp === undefined ? given.now_ms : (parseTimestamp(timestamp) ?? given.now_ms);
  return { at_ms: Math.min(at_ms, given.now_ms) };
}

/** The parts of a context that are kept, the first ones first where not all of them fit. */
const CONTEXT_PARTS = ['library', 'locale', 'ip', 'campaign', 'page'] as const;

function contextOf(context: unknown, keeps_ip: boolean): Fields | undefined {
  if (!isObject(context)) return undefined;
  const kept: Fields = {};
  let parts = 0;
  for (const part of CONTEXT_PARTS) {
    const value = context[part];
    if (value === undefined || value === null || (part === 'ip' && !keeps_ip)) continue;
    kept[part] = value;
    parts++;
  }
  if (parts === 0) return undefined;
  if (!isLonger(kept, MAX_CONTEXT_BYTES)) return kept;
  const fitting: Fields = {};
  for (const part of CONTEXT_PARTS) {
    if (kept[part] === undefined) continue;
    fitting[part] = kept[part];
    if (isLonger(fitting, MAX_CONTEXT_BYTES)) delete fitting[part];
  }
  return Object.keys(fitting).length === 0 ? undefined : fitting;
}

function objectOf(value: unknown, path: string): Fields {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw new CallRefused('PROPERTIES_INVALID', `${path} must be an object`);
  return value;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}
