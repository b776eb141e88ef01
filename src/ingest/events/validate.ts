import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { ErrorCode } from '../../errors.ts';
import type { ApiKeyKind } from '../../http/auth/queries.ts';
import { emptyIdMessage, isEmptyId } from '../../platform/empty-ids.ts';
import { isUuid } from '../../platform/ids.ts';
import {
  CUSTOM_PREFIX,
  definitionOf,
  EVENTS,
  MAX_EVENT_NAME_LENGTH,
  MAX_ID_LENGTH,
  MAX_PROPERTY_KEYS,
  propertiesSchema,
  WHOLES,
} from './catalogue.ts';
import { mayNotSend, maySend } from './client-events.ts';
import { isDedupeId, readsDedupeId } from './dedupe-id.ts';
import { findUnsafe, unsafeText } from './text-safety.ts';
import {
  EARLIEST_MS,
  MAX_AHEAD_MS,
  parseDateOrTime,
  parseStoredTime,
  parseTimestamp,
} from '../../platform/timestamp.ts';

/** An event as the caller sent it, after validation (spec part 6). */
export interface EventBody {
  event: string;
  anonymous_id?: string;
  player_id?: string;
  external_id?: string;
  timestamp?: string;
  properties?: Record<string, unknown>;
}

/** Why an event is refused; `code` is one of errors.ts, `path` the dotted path in the event. */
export interface EventProblem {
  code: ErrorCode;
  path: string;
  message: string;
}

/** The current time and the tenant's currencies, which validation depends on. */
export interface ValidationContext {
  now_ms: number;
  /** Whether the currency is active in the tenant's catalogue. */
  hasCurrency(code: string): boolean;
  /** The kind of the API key that sends the event; absent: no key does, as in an import of a file. */
  kind?: ApiKeyKind;
}

const TOP_LEVEL = new Set(['event', 'anonymous_id', 'player_id', 'external_id', 'timestamp', 'properties']);

const ajv = new Ajv({ allErrors: false, strict: true, allowUnionTypes: true });
ajv.addFormat('date-time', (text: string) => parseStoredTime(text) !== undefined);
ajv.addFormat('date-or-time', (text: string) => parseDateOrTime(text) !== undefined);
// ajv counts characters beyond the basic plane once; the ledger and all other ids count them twice.
ajv.addFormat('reference', (text: string) => text.length <= MAX_ID_LENGTH && !isEmptyId(text));
const definitions = new Map(Object.entries(EVENTS));
const validators = new Map<string, ValidateFunction>();

/** The check of a canonical event's properties. It is compiled at the first such event: to compile all takes a tenth of the start time. */
function validatorOf(name: string): ValidateFunction | undefined {
  const definition = definitions.get(name);
  if (definition === undefined) return undefined;
  const validate = validators.get(name) ?? ajv.compile(propertiesSchema(definition));
  validators.set(name, validate);
  return validate;
}

/** Checks one event; undefined means `input` is an {@link EventBody}. Never throws, for any input. */
export function findEventProblem(input: unknown, context: ValidationContext): EventProblem | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return { code: 'BODY_MALFORMED', path: '', message: 'an event is a JSON object' };
  }
  const { event: name } = input as { event?: unknown };
  if (context.kind !== undefined && isEventName(name) && !maySend(context.kind, name))
    return { code: 'KEY_KIND_FORBIDDEN', path: 'event', message: mayNotSend(name) };
  // `for … in` suffices: parsed JSON has own keys only.
  for (const key in input) {
    if (!TOP_LEVEL.has(key)) {
      const message = `unknown field "${key.slice(0, 64)}"; an event has ${[...TOP_LEVEL].join(', ')}`;
      return { code: 'BODY_MALFORMED', path: key.slice(0, 64), message };
    }
  }
  const event = input as Record<keyof EventBody, unknown>;
  return findIdentityProblem(event) ?? findContentProblem(event, context);
}

/** What is wrong with an event apart from its ids and unknown fields. Never throws, for any values. */
export function findContentProblem(
  {
    event,
    timestamp,
    properties,
  }: Pick<Record<keyof EventBody, unknown>, 'event'> & Partial<Record<keyof EventBody, unknown>>,
  context: ValidationContext,
): EventProblem | undefined {
  return (
    findTimestampProblem(timestamp, context.now_ms) ??
    findNameProblem(event) ??
    findPropertiesProblem(event as string, properties, context)
  );
}

function findIdentityProblem(event: Record<string, unknown>): EventProblem | undefined {
  const { anonymous_id, player_id, external_id } = event;
  if (isMissing(anonymous_id) && isMissing(player_id))
    return identityRequired({ anonymous_id, player_id }, external_id);
  if (anonymous_id !== undefined && !isIdText(anonymous_id)) return badId('anonymous_id');
  if (external_id !== undefined && !isIdText(external_id)) return badId('external_id');
  if (player_id === undefined) return undefined;
  const path = 'player_id';
  if (typeof player_id !== 'string' || !isUuid(player_id))
    return { code: 'VALIDATION_ERROR', path, message: 'player_id must be the uuid returned by identify' };
  if (!isEmptyId(player_id)) return undefined;
  return { code: 'VALIDATION_ERROR', path, message: emptyIdMessage(path, player_id) };
}

/** An id that is the text of an empty value counts as missing. */
function isMissing(id: unknown): boolean {
  return id === undefined || id === null || (typeof id === 'string' && isEmptyId(id));
}

function identityRequired(ids: Record<string, unknown>, external_id: unknown): EventProblem {
  const [path, id] = Object.entries(ids).find(([, one]) => typeof one === 'string') ?? ['anonymous_id'];
  const why = typeof id === 'string' ? `${emptyIdMessage(path, id)}; ` : '';
  const more =
    external_id === undefined
      ? ''
      : ': external_id is for reference only in an event, and identify links it to a player';
  return { code: 'IDENTITY_REQUIRED', path, message: `${why}give anonymous_id or player_id${more}` };
}

/** Whether the value can be an id that a caller made up. */
export function isIdText(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length >= 1 && value.length <= MAX_ID_LENGTH && !unsafeText(value)
  );
}

function badId(path: string): EventProblem {
  const message = `${path} must be a string of 1 to ${MAX_ID_LENGTH} characters without NUL or lone surrogates`;
  return { code: 'VALIDATION_ERROR', path, message };
}

/** What is wrong with the `timestamp` of an event; undefined is no problem. */
export function findTimestampProblem(timestamp: unknown, now_ms: number): EventProblem | undefined {
  if (timestamp === undefined) return undefined;
  const path = 'timestamp';
  const at_ms = typeof timestamp === 'string' ? parseTimestamp(timestamp) : undefined;
  if (at_ms === undefined) {
    return {
      code: 'VALIDATION_ERROR',
      path,
      message: 'timestamp must be ISO-8601 UTC, like 2026-01-31T12:00:00.000Z',
    };
  }
  if (at_ms < EARLIEST_MS)
    return { code: 'VALIDATION_ERROR', path, message: 'timestamp must not be before 1900' };
  if (at_ms > now_ms + MAX_AHEAD_MS) {
    return {
      code: 'VALIDATION_ERROR',
      path,
      message: 'timestamp is more than 24 hours ahead: check the clock',
    };
  }
  return undefined;
}

/** Whether the value is a canonical event name or a custom one. */
export function isEventName(name: unknown): name is string {
  if (typeof name !== 'string') return false;
  if (definitions.has(name)) return true;
  const custom = name.startsWith(CUSTOM_PREFIX) && name.length > CUSTOM_PREFIX.length;
  return custom && name.length <= MAX_EVENT_NAME_LENGTH && !unsafeText(name);
}

function findNameProblem(name: unknown): EventProblem | undefined {
  if (!isEventName(name)) {
    const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 64)) : 'name';
    const names = 'the console, Developers › Event catalogue, and docs/segment-reference.md list them';
    const message = `unknown event ${shown}: use a canonical name (${names}), or the prefix ${CUSTOM_PREFIX} (at most ${MAX_EVENT_NAME_LENGTH} characters)`;
    return { code: 'PROPERTIES_INVALID', path: 'event', message };
  }
  return undefined;
}

function findPropertiesProblem(
  name: string,
  properties: unknown,
  context: ValidationContext,
): EventProblem | undefined {
  const validate = validatorOf(name);
  const value = properties === undefined ? {} : properties;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { code: 'PROPERTIES_INVALID', path: 'properties', message: 'properties must be an object' };
  }
  if (validate !== undefined && !validate(value)) return schemaProblem(name, value, validate.errors?.[0]);
  const unsafe = findUnsafe(value, 'properties', MAX_PROPERTY_KEYS);
  if (unsafe !== undefined) return { code: 'PROPERTIES_INVALID', path: 'properties', message: unsafe };
  const { currency } = value as { currency?: unknown };
  const readsCurrency = definitionOf(name)?.properties['currency'] !== undefined;
  if (readsCurrency && typeof currency === 'string' && !context.hasCurrency(currency)) {
    const code = currency.trim().toUpperCase();
    const hint = code !== currency && context.hasCurrency(code) ? `: codes are written like ${code}` : '';
    const message = `properties.currency ${JSON.stringify(currency)} is not active in the tenant's currency catalogue${hint}`;
    return { code: 'PROPERTIES_INVALID', path: 'properties.currency', message };
  }
  return findPartProblem(name, value) ?? findDedupeIdProblem(name, value);
}

/** What is wrong with the bonus parts of a bet, whose properties are those of its schema (docs/feeds.md, What counts how). */
function findPartProblem(name: string, properties: object): EventProblem | undefined {
  const known = definitionOf(name)?.properties ?? {};
  const parts = Object.entries(WHOLES);
  // A bet without money has no part that could be lost.
  if (!parts.some(([part]) => Object.hasOwn(known, part))) return undefined;
  const values = properties as Record<string, unknown>;
  for (const [part, whole] of parts) {
    if (!Object.hasOwn(values, part)) continue;
    const path = `properties.${part}`;
    const refuse = (why: string): EventProblem => ({
      code: 'PROPERTIES_INVALID',
      path,
      message: `${path} is a part of properties.${whole}${why}`,
    });
    if (!Object.hasOwn(known, part)) return refuse(`, and ${name} has no ${whole}`);
    if (!Object.hasOwn(values, whole)) return refuse(', which is missing');
    const is_larger = BigInt(values[part] as number | string) > BigInt(values[whole] as number | string);
    if (is_larger) return refuse(`: it must not be more than properties.${whole}`);
  }
  return undefined;
}

function findDedupeIdProblem(name: string, properties: object): EventProblem | undefined {
  if (!Object.hasOwn(properties, 'dedupe_id')) return undefined;
  const values = properties as Record<string, unknown>;
  const id = values['dedupe_id'];
  if (isDedupeId(id) || !readsDedupeId(name, values)) return undefined;
  const path = 'properties.dedupe_id';
  const message =
    typeof id === 'string' && isEmptyId(id)
      ? emptyIdMessage(path, id)
      : `${path} must be a string of 1 to ${MAX_ID_LENGTH} characters`;
  return { code: 'PROPERTIES_INVALID', path, message };
}

function schemaProblem(name: string, properties: object, error: ErrorObject | undefined): EventProblem {
  const missing = error?.keyword === 'required' ? String(error.params['missingProperty']) : undefined;
  if (missing !== undefined) {
    const path = `properties.${missing}`;
    return { code: 'PROPERTIES_INVALID', path, message: `${path} is required for ${name}` };
  }
  const field = error?.instancePath.split('/')[1] ?? '';
  const path = `properties.${field}`;
  const value: unknown = Object.entries(properties).find(([key]) => key === field)?.[1];
  const message =
    typeof value === 'string' && error?.keyword === 'format' && isEmptyId(value)
      ? emptyIdMessage(path, value, 'Send the id')
      : `${path} ${expectation(name, field)}`;
  return { code: 'PROPERTIES_INVALID', path, message };
}

/** What a property accepts, in words. */
function expectation(name: string, field: string): string {
  const schema = definitionOf(name)?.properties[field];
  if (schema === undefined) return 'is not usable';
  const { description } = schema;
  if (Array.isArray(schema['enum'])) {
    const more = typeof description === 'string' ? `. ${description}` : '';
    return `must be one of ${schema['enum'].join(', ')}${more}`;
  }
  if (schema['anyOf'] !== undefined)
    return 'must be an integer from 0 to 2^53 - 1 in the smallest unit, or a larger one as a digit string';
  if (schema['type'] === 'integer')
    return `must be an integer from ${String(schema['minimum'])} to ${String(schema['maximum'])}`;
  if (schema['format'] === 'date-time') return 'must be a time in ISO-8601, like 2026-01-31T12:00:00.000Z';
  if (schema['format'] === 'date-or-time')
    return 'must be a date like 2026-01-31, a time in ISO-8601 like 2026-01-31T12:00:00.000Z, or null';
  return `must be a string of 1 to ${String(schema['maxLength'])} characters`;
}
