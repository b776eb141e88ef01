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
    /** Null: the text is not a UUID. */
    player_id: string | null;
    /** As it was sent: an external or anonymous id, or an address, which the index has in one spelling. */
    text: string;
    telegram_id: readonly string[];
  };
  prefixes: Partial<Record<Exclude<MatchedId, 'player_id'>, readonly string[]>>;
}

/** A shorter text begins too many ids. */
const MIN_PREFIX = 3;

/** The beginning of a telephone number. Any other text has digits that begin no number. */
const NUMBER = /^\+?[\d\s().\-/]*$/;

/**
 * The ids that a text of a search box may be: a Telegram id with and without `@`, every other text as it is. How an email
 * address or a telephone number is spelled does not matter: it is compared as the gate compares it.
 */
export function soughtIds(text: string): SoughtIds {
  const telegram = text.startsWith('@') ? each(text, text.slice(1)) : each(text, `@${text}`);
  const exact = {
    player_id: isUuid(text) ? text.toLowerCase() : null,
    text,
    telegram_id: telegram.filter((one) => one !== ''),
  };
  if (text.length < MIN_PREFIX) return { exact, prefixes: {} };
  const address = plainAddress(text);
  const prefixes = {
    external_id: [text],
    email: [text],
    phone:
      NUMBER.test(address) && address.replaceAll(/\D/g, '').replace(/^0+/, '').length >= MIN_PREFIX
        ? [text]
        : [],
    telegram_id: exact.telegram_id.filter((one) => one.length >= MIN_PREFIX),
    anonymous_id: [text],
  };
  return { exact, prefixes };
}

function each(...texts: string[]): string[] {
  return [...new Set(texts)];
}
