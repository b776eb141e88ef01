import { isMoneyProperty } from '../../../segments/language/fields.ts';
import type { Bindings } from '../../../segments/sql/bindings.ts';
import { isPersonalName } from '../../../players/masking.ts';
import { PRODUCT } from '../metrics/measure-queries.ts';
import type { Breakdown } from '../schema.ts';

/**
 * How rows are grouped: by an expression over rows of events, or over the player `p` that they belong to. `shownOf` turns
 * the grouped text into the one that is shown. It costs more than grouping, so it is applied after grouping.
 */
export type GroupSql = ({ of_event: string } | { of_player: string }) & {
  shownOf: (grouped: string) => string;
};

const PLAYER_COLUMNS = {
  tier: 'current_tier_code',
  currency: 'default_currency_code',
  kyc_status: 'kyc_status',
  player_status: 'status',
} as const;

/** The column of `players` by which a breakdown goes; undefined: it goes by events. */
export function playerColumnOf(by: Breakdown): string | undefined {
  return by in PLAYER_COLUMNS ? PLAYER_COLUMNS[by as keyof typeof PLAYER_COLUMNS] : undefined;
}

/** The one group of all texts that are, or contain, e-mail addresses or telephone numbers. */
export const PERSONAL_GROUP = '•••';

const SEPARATOR = '[ .()/\u00a0-]';
const DIGIT = '[0-9０-９]';
const digits = (least: number) => `(${SEPARATOR}*${DIGIT}){${least}}`;
/** What `maskPersonal` masks in texts, and a little more; for `match` of ClickHouse, without backslashes. */
const CONTACTS = [
  '[^ @]@[^ @]+[.][^ @]',
  `(^|[^A-Za-z0-9０-９])[+＋]${digits(7)}`,
  `[+＋]${digits(9)}`,
  `(^|[^A-Za-z0-9０-９._/-])00([1-9１-９]|${SEPARATOR}+${DIGIT})${digits(8)}`,
].join('|');
/** A personal name in the JSON of an object. */
const NAME = '(?i)"[^"]*(mail|phone|tel|mobile|msisdn)[^"]*" *:';

/** Longer texts than a cell can name are one group. */
const MAX_GROUP = 256;
/** So much of a text is looked at, so that no address is cut. */
const MAX_LOOKED_AT = 2 * MAX_GROUP + 64;

/** The text, or {@link PERSONAL_GROUP} for one with an address or a number. */
export function groupedSql(text: string): string {
  // In JSON any character may be written with escapes.
  const is_json = `match(${text}, '^[[{]') and (match(${text}, '${NAME}') or position(${text}, '\\\\u') > 0)`;
  return `if(match(${text}, '${CONTACTS}') or (${is_json}), '${PERSONAL_GROUP}', ${text})`;
}

const asItIs = (grouped: string) => grouped;

/** The group of a row as text; an empty text: not known. */
export function groupSql(by: Breakdown, property: string | undefined, bindings: Bindings): GroupSql {
  const column = playerColumnOf(by);
  if (column !== undefined) return { of_player: `ifNull(p.${column}, '')`, shownOf: asItIs };
  if (by === 'product') return { of_event: PRODUCT, shownOf: asItIs };
  if (by === 'event') return { of_event: 'toString(event)', shownOf: asItIs };
  if (by !== 'property') return { of_event: `toString(${by})`, shownOf: groupedSql };
  const key = bindings.bind('String', property ?? '');
  const json = `if(JSONType(properties, ${key}) = 'String', JSONExtractString(properties, ${key}), JSONExtractRaw(properties, ${key}))`;
  const shownOf = isPersonalName(property ?? '')
    ? (text: string) => `if(${text} in ('', 'true', 'false', 'null'), ${text}, '${PERSONAL_GROUP}')`
    : (text: string) => `substringUTF8(${groupedSql(text)}, 1, ${MAX_GROUP})`;
  return { of_event: `substringUTF8(${json}, 1, ${MAX_LOOKED_AT})`, shownOf };
}

/** Whether a breakdown by the property makes sense: amounts have a value of their own for nearly each event. */
export function canGroupBy(property: string): boolean {
  return !isMoneyProperty(property, undefined);
}
