/** The filters that templates may use. */
export const FILTERS = [
  'append',
  'prepend',
  'capitalize',
  'downcase',
  'upcase',
  'strip',
  'lstrip',
  'rstrip',
  'strip_newlines',
  'newline_to_br',
  'strip_html',
  'squish',
  'normalize_whitespace',
  'number_of_words',
  'truncate',
  'truncatewords',
  'slice',
  'slugify',
  'escape',
  'escape_once',
  'xml_escape',
  'url_encode',
  'url_decode',
  'cgi_escape',
  'uri_escape',
  'base64_encode',
  'base64_decode',
  'sha256',
  'hmac_sha256',
  'replace',
  'replace_first',
  'replace_last',
  'remove',
  'remove_first',
  'remove_last',
  'split',
  'abs',
  'at_least',
  'at_most',
  'ceil',
  'divided_by',
  'floor',
  'minus',
  'modulo',
  'plus',
  'round',
  'times',
  'to_integer',
  'money',
  'size',
  'first',
  'last',
  'join',
  'array_to_sentence_string',
  'reverse',
  'compact',
  'concat',
  'push',
  'unshift',
  'pop',
  'shift',
  'uniq',
  'sort',
  'sort_natural',
  'map',
  'where',
  'reject',
  'find',
  'find_index',
  'has',
  'group_by',
  'sum',
  'default',
  'json',
  'jsonify',
  'inspect',
  'date',
  'date_to_xmlschema',
  'date_to_rfc822',
  'date_to_string',
  'date_to_long_string',
] as const;
export type FilterName = (typeof FILTERS)[number];

/** Whether templates may use a filter of this name. */
export const isFilter = (name: string) => (FILTERS as readonly string[]).includes(name);

/** Names of filters elsewhere, with what Liquid has for them. */
const MEANT: Readonly<Record<string, string>> = {
  fallback: 'default',
  coalesce: 'default',
  lower: 'downcase',
  lowercase: 'downcase',
  upper: 'upcase',
  uppercase: 'upcase',
  title: 'capitalize',
  trim: 'strip',
  length: 'size',
  count: 'size',
  add: 'plus',
  subtract: 'minus',
  multiply: 'times',
  multiplied_by: 'times',
  divide: 'divided_by',
  mod: 'modulo',
  currency: 'money',
  strftime: 'date',
};
/** Longer names are not compared with those of filters. */
const MAX_COMPARED = 30;

/** What is said of a filter that templates do not have: why, or what was meant. */
export function undefinedFilter(name: string): string {
  const said = `undefined filter: ${name}`;
  if (name === 'raw') return `${said}. Values are always escaped`;
  if (name === 'sample' || /^\w+_exp$/.test(name))
    return `${said}. It is not offered, because its cost cannot be bounded`;
  const meant = (Object.hasOwn(MEANT, name) ? MEANT[name] : undefined) ?? nearest(name.toLowerCase());
  return meant === undefined ? said : `${said}: write ${meant}`;
}

/** The filter whose name differs in at most two characters, in one of a short name; the nearest one. */
function nearest(name: string): string | undefined {
  if (name.length > MAX_COMPARED) return undefined;
  const most = name.length > 4 ? 2 : 1;
  const near = FILTERS.map((filter) => ({ filter, distance: distanceOf(name, filter) })).filter(
    ({ distance }) => distance <= most,
  );
  return near.sort((a, b) => a.distance - b.distance)[0]?.filter;
}

/** How many characters have to be added, removed or replaced to make one name of the other. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
