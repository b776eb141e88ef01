import { BoundedCache } from '../../platform/bounded-cache.ts';
import { CUSTOM_PREFIX } from '../events/catalogue.ts';
import { isEventName } from '../events/validate.ts';

/** Names of events as their sender writes them, with ours: `"Deposit Succeeded": "deposit_confirmed"`. */
export type EventNames = Readonly<Record<string, string>>;

/** Our name of an event; `original` is the sender's where ours is made from it. */
export interface Named {
  event: string;
  original?: string;
}

/** Names are few and repeated; the texts of names are short. */
const made = new BoundedCache<string, string>({ max: 10_000 });
const LONGEST_KEPT = 256;

/**
 * Our name of a `track` call: a canonical or `custom_` name as it is, else what `names` says, else `custom_` with the
 * name in snake_case. Undefined for a name without letters and digits.
 */
export function nameOf(name: string, names: EventNames): Named | undefined {
  // Not narrowed: every other name is a text, too.
  const is_ours: boolean = isEventName(name);
  if (is_ours) return { event: name };
  const mapped: unknown = Object.hasOwn(names, name) ? names[name] : undefined;
  if (typeof mapped === 'string') return { event: mapped };
  let event = made.get(name);
  if (event === undefined) {
    event = CUSTOM_PREFIX + snakeCase(name);
    if (name.length <= LONGEST_KEPT) made.set(name, event);
  }
  return event === CUSTOM_PREFIX ? undefined : { event, original: name };
}

/**
 * The words of a name in lower case, joined by `_`. Letters and digits of any script are kept, with the marks that belong to
 * them; everything else is between words, and so is the place before a capital letter: `HTTPRequest Sent` is
 * `http_request_sent`.
 */
export function snakeCase(name: string): string {
  return name
    .normalize('NFC')
    .replace(/(\p{Ll}\p{M}*|\p{N})(?=\p{Lu})/gu, '$1_')
    .replace(/(\p{Lu}\p{M}*)(?=\p{Lu}\p{M}*\p{Ll})/gu, '$1_')
    .replace(/(^|[^\p{L}\p{N}\p{M}])\p{M}+/gu, '$1')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '_')
    .replace(/^_|_$/g, '')
    .toLowerCase();
}
