import { isUuid } from '../../platform/ids.ts';
import { plainAddress } from '../address-text.ts';

/** The ids by which a player is found, those that name one player only first. */
export const MATCHED_IDS = [
  'player_id',
  'external_id',
  'email',
  'phone',
  'telegram_id',
  'anonymous_id',
] as const;
export type MatchedId = (typeof MATCHED_IDS)[number];

/** What the indexes of ids are asked for: texts that are equal, and texts with which ids begin. */
export interface SoughtIds {
  exact: {
    /** Null: the text is no UUID. */
    player_id: string | null;
    /** As it was sent: an external or anonymous id. */
    text: string;
    email: readonly string[];
    phone: readonly string[];
    telegram_id: readonly string[];
  };
  prefixes: Partial<Record<Exclude<MatchedId, 'player_id'>, readonly string[]>>;
}

/** A shorter text begins too many ids. */
const MIN_PREFIX = 3;

/**
 * The ids that a text of a search box may be, in the spellings in which they are stored: an email address also in lower
 * case, a phone number also without separators and with `+`, a Telegram id with and without `@`.
 */
export function soughtIds(text: string): SoughtIds {
  const address = plainAddress(text);
  const email = each(text, address, address.toLowerCase());
  const dialled = address.replaceAll(/[\s().\-/]/g, '');
  const is_phone = /^\+?\d+$/.test(dialled);
  const phone = is_phone ? each(text, dialled, `+${dialled.replace('+', '')}`) : [text];
  const telegram = text.startsWith('@') ? each(text, text.slice(1)) : each(text, `@${text}`);
  const exact = {
    player_id: isUuid(text) ? text.toLowerCase() : null,
    text,
    email,
    phone,
    telegram_id: telegram.filter((one) => one !== ''),
  };
  if (text.length < MIN_PREFIX) return { exact, prefixes: {} };
  const prefixes = {
    external_id: [text],
    email,
    phone: is_phone && dialled.length >= MIN_PREFIX ? phone : [],
    telegram_id: exact.telegram_id.filter((one) => one.length >= MIN_PREFIX),
    anonymous_id: [text],
  };
  return { exact, prefixes };
}

function each(...texts: string[]): string[] {
  return [...new Set(texts)];
}
