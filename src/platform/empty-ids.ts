/**
 * What programs write in place of an id that they do not have: the texts of empty values, and the names of fields and of
 * visitors without an account that examples of integrations use. Everybody whose id is missing would be one player.
 */
export const EMPTY_IDS: readonly string[] = [
  'undefined|null|nil|none|nan|n/a|unknown|true|false|0|-1|[object object]|[object undefined]|[object null]|{}|[]|',
  'guest|anonymous|not_authenticated|unauthenticated|id|email|user_id|userid|distinct_id|distinctid|anonymous_id|',
  'external_id|player_id|00000000-0000-0000-0000-000000000000|00000000000000000000000000000000|',
]
  .join('')
  .split('|');
const EMPTY = new Set(EMPTY_IDS);
const LONGEST = 36;

/**
 * Whether the text of an id stands for no id: `undefined`, `[object Object]`, `guest`, the UUID of zeros and their kind,
 * in any case, with spaces around, and in quotes or parentheses. A text without characters is not one of them: it is no
 * id at all.
 */
export function isEmptyId(id: string): boolean {
  if (id === '') return false;
  const text = bare(id);
  return text.length <= LONGEST && EMPTY.has(text.toLowerCase());
}

/** What is wrong with an id, or another value by `what`, for which {@link isEmptyId} holds, and what to do: `remedy`. */
export function emptyIdMessage(
  field: string,
  id: string,
  remedy = 'Leave the field out, or send the id',
  what = 'id',
): string {
  const shown = JSON.stringify(id.slice(0, 64));
  return `${field} is ${shown}, the text of an empty value: the program that sent it has no ${what} there. ${remedy}`;
}

/** A cheap first check of every id. */
const OPENS = /^["'`(<]./s;
const PAIRS = new Set(['""', "''", '``', '()', '<>']);

/** Without spaces around, and without quotes and parentheses, of which programs that quote twice write two pairs. */
function bare(id: string): string {
  let text = id.trim();
  for (let pairs = 0; pairs < 2 && OPENS.test(text) && PAIRS.has(`${text[0]}${text.at(-1)}`); pairs++)
    text = text.slice(1, -1).trim();
  return text;
}
