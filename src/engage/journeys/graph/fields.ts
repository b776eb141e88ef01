import { z } from 'zod';
import { EVENT_NAME_RULE } from '../../../ingest/event-name.ts';
import { UNSAFE_KEY, unsafeText } from '../../../ingest/events/text-safety.ts';
import { isEventName } from '../../../ingest/events/validate.ts';
import { isTimeZone } from '../../../platform/time-zone.ts';
import type { Fault } from './issues.ts';
import type { Reference } from './shapes.ts';

// The schemas of single fields of a definition.

/** Two years: the longest that a run may rest at one node. */
export const MAX_REST_MS = 63_072_000_000;
const MAX_NAME = 200;
const MAX_KEYS = 10;
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** A check whose failure has a code of its own. */
export function coded(code: Fault, message: string) {
  return { error: message, params: { code } };
}

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** One of these texts. */
export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` });
}

export const flag = z.boolean({ error: 'must be true or false' });

/** A text of 1 to `max` characters that the databases can store. */
export function safeText(max: number) {
  const error = `must be a text of 1 to ${max} characters without NUL`;
  return z
    .string({ error })
    .min(1, { error })
    .max(max, { error })
    .refine((text) => !unsafeText(text), { error });
}

export const name = safeText(MAX_NAME);

const RESERVED_IDS = new Set([UNSAFE_KEY, 'constructor', 'prototype']);
const ID_RULE = 'must be 1 to 64 letters, digits, _ or -, and none of __proto__, constructor, prototype';

/** The id of a node, or another name that becomes a key of the run's context. */
export const nodeId = z
  .string({ error: ID_RULE })
  .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: ID_RULE })
  .refine((id) => !RESERVED_IDS.has(id), { error: ID_RULE });

/**
 * The id of a template or provider. Any text: whether it exists is asked on activation, and an id that is no UUID does
 * not exist. One that is a UUID is in lower case, as the database has it.
 */
export const recordId = safeText(MAX_NAME).transform((id) => id.toLowerCase());

const UUID_RULE = 'must be the id of a segment, a UUID';
export const segmentId = z.uuid({ error: UUID_RULE }).toLowerCase();

export const eventName = z
  .string({ error: EVENT_NAME_RULE })
  .refine(isEventName, coded('UNKNOWN_EVENT', EVENT_NAME_RULE));

const ZONE_RULE = 'must be an IANA time zone, such as Europe/Malta';
export const timeZone = z.string({ error: ZONE_RULE }).refine(isTimeZone, { error: ZONE_RULE });
const PLAYER_ZONE_RULE = `${ZONE_RULE}, or "player"`;
export const playerTimeZone = z
  .string({ error: PLAYER_ZONE_RULE })
  .refine((zone) => zone === 'player' || isTimeZone(zone), { error: PLAYER_ZONE_RULE });

const TIME_RULE = 'must be a time of the day from "00:00" to "23:59"';
/** `HH:MM` as the minutes since midnight. */
export const minuteOfDay = z
  .string({ error: TIME_RULE })
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: TIME_RULE })
  .transform((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)));

const DAYS_RULE = `must be a list of different days: ${DAYS.join(', ')}`;
/** Days of the week as numbers, 1 for Monday, in their order. */
export const weekDays = z
  .array(z.enum(DAYS, { error: DAYS_RULE }), { error: DAYS_RULE })
  .min(1, { error: DAYS_RULE })
  .max(DAYS.length, { error: DAYS_RULE })
  .refine((days) => new Set(days).size === days.length, { error: DAYS_RULE })
  .transform((days) => days.map((day) => DAYS.indexOf(day) + 1).sort((a, b) => a - b));

const REFERENCE_RULE =
  'must be a path such as "context.trigger_payload.starts_at" or "player.traits.birthday"';
/** A path into the run's context or the player. */
export const reference = safeText(MAX_NAME).transform((text, context): Reference => {
  const [root, ...path] = text.split('.');
  const is_path = path.length > 0 && path.length <= MAX_KEYS && path.every(isKey);
  if ((root === 'context' || root === 'player') && is_path) return { root, path };
  context.addIssue({ code: 'custom', message: REFERENCE_RULE });
  return z.NEVER;
});

function isKey(key: string): boolean {
  return key !== '' && key !== UNSAFE_KEY;
}

/** An object of at most `max_bytes` bytes of JSON. */
export function boundedObject(max_bytes: number) {
  const error = `must be an object of at most ${max_bytes} bytes of JSON`;
  return z
    .record(z.string(), z.unknown(), { error })
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= max_bytes, { error });
}
