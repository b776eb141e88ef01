import { isEmptyId } from '../../platform/empty-ids.ts';
import { CUSTOM_PREFIX, definitionOf, MAX_ID_LENGTH, referenceOf } from './catalogue.ts';
import { unsafeText } from './text-safety.ts';

/** A constant id must never hide an exclusion or a decision about identity. */
const GROUPS_WITHOUT: ReadonlySet<string> = new Set(['KYC', 'Responsible gaming']);

type Properties = Readonly<Record<string, unknown>>;

/**
 * The `dedupe_id` that names an event which has no claim in the ledger, so that it counts once however often it is sent
 * (docs/feeds.md, Ids and times); undefined where none is read: the event has a claim (a reference), is of KYC or responsible gaming,
 * or has no valid one. Unique in the project per event name. Reads the event as it was sent; never throws.
 */
export function dedupeIdOf(event: string, properties: Properties): string | undefined {
  if (!mayHaveDedupeId(event, properties)) return undefined;
  const { dedupe_id } = properties;
  return isDedupeId(dedupe_id) ? dedupe_id : undefined;
}

/** Whether repetitions of an event without a claim are dropped by an id: not of KYC and responsible gaming. */
export function mayHaveDedupeId(event: string, properties: Properties): boolean {
  return readsDedupeId(event, properties) || isCustom(event);
}

/** Whether intake refuses the event when its `dedupe_id` is none: a canonical event that reads it. */
export function readsDedupeId(event: string, properties: Properties): boolean {
  const definition = definitionOf(event);
  if (definition === undefined || GROUPS_WITHOUT.has(definition.group)) return false;
  return referenceOf(event, properties) === undefined;
}

/** A text of 1 to 256 UTF-16 units; not the text of an empty value, with which all events of a program would be one. */
export function isDedupeId(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_ID_LENGTH) return false;
  return !isEmptyId(value) && !unsafeText(value);
}

function isCustom(event: string): boolean {
  return event.startsWith(CUSTOM_PREFIX) && event.length > CUSTOM_PREFIX.length;
}
