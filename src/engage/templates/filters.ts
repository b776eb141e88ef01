import { filters as ALL, toValue, type Context, type Liquid } from 'liquidjs';
import { exactJson } from '../../platform/exact-json.ts';
import { Amount, computedOf, plainOf } from './amount.ts';
import { ARITHMETIC } from './arithmetic.ts';
import { formatDate, namedDate } from './dates.ts';
import { Exact } from './decimals.ts';
import type { FilterName } from './grammar/filter-names.ts';
import { MONEY, moneyText, type MoneyContext } from './money.ts';
import { chargeElements, chargeSearch, chargeSort, chargeValue, type Work } from './work.ts';

/** Charges for what a filter is about to do with a value and its arguments. */
type Charge = (work: Work, value: unknown, args: readonly unknown[]) => void;
type Handler = (this: { context: Context }, value: unknown, ...args: unknown[]) => unknown;

const MAX_PROPERTY = 200;
const MAX_DATE_FORMAT = 200;
const DATE = 500;
/** A name of a day, a month or a zone, and the forms of a locale. */
const DATE_NAME = 3_500;
const DATE_PART = 100;
/** The time of another zone. */
const DATE_ZONE = 6_000;

const charged = (work: Work, values: readonly unknown[], rate: number) => {
  for (const value of values) chargeValue(work, value, rate);
};
const nothing: Charge = () => undefined;
const perCharacter =
  (rate: number): Charge =>
  (work, value, args) => {
    chargeValue(work, value, rate);
    charged(work, args, 1);
  };
const search: Charge = (work, value, args) => {
  chargeSearch(work, value, args[0]);
  chargeValue(work, value, 3);
  charged(work, args, 1);
};
const elements: Charge = (work, value, args) => {
  chargeElements(work, value);
  for (const arg of args) chargeElements(work, arg);
};
const numbers = perCharacter(1);

/** The path of a property that a filter reads in each element: a short text without computed parts. */
function pathLength(property: unknown): number {
  const plain: unknown = toValue(property);
  if (plain === undefined || plain === null) return 0;
  if (typeof plain !== 'string' || plain.length > MAX_PROPERTY || /[()]/.test(plain)) {
    throw new RangeError(
      `a property must be a text of at most ${MAX_PROPERTY} characters without brackets ( )`,
    );
  }
  return plain.length;
}
const byProperty: Charge = (work, value, args) => {
  chargeElements(work, value, pathLength(args[0]));
  for (const expected of args.slice(1)) chargeValue(work, expected, Array.isArray(value) ? value.length : 1);
};
const sorted: Charge = (work, value, args) => chargeSort(work, value, pathLength(args[0]));
const summed: Charge = (work, value, args) => {
  chargeElements(work, value, pathLength(args[0]));
  chargeValue(work, value, 1);
};
const joined: Charge = (work, value, args) => {
  chargeValue(work, value, 2);
  charged(work, args, 1);
};

const date: Charge = (work, value, [format, zone]) => {
  charged(work, [value, format, zone], 1);
  const text: unknown = toValue(format);
  if (typeof text === 'string' && text.length > MAX_DATE_FORMAT) {
    throw new RangeError(`a date format may have at most ${MAX_DATE_FORMAT} characters, not ${text.length}`);
  }
  const given = typeof text === 'string' ? text : '%A %c';
  const names = given.match(/[aAbBhcxXZ]/g)?.length ?? 0;
  const parts = given.split('%').length;
  work.use(
    DATE + names * DATE_NAME + parts * DATE_PART + (typeof toValue(zone) === 'string' ? DATE_ZONE : 0),
  );
};
const ofNamedDate: Charge = (work, value) => date(work, value, ['%a %b']);

/** The forms of a locale, once for each that is new. */
const MONEY_FORMS = 4_000;
const money: Charge = (work, value, args) => {
  charged(work, [value, ...args], 1);
  work.use(MONEY_FORMS);
};

/**
 * Every filter that templates may use, with what it is charged for. A filter that is not here is refused: those whose
 * names end in `_exp` evaluate an expression for each element, `sample` draws lots, and `raw` would let a value from a
 * player become markup.
 */
const CHARGES: Readonly<Record<FilterName, Charge>> = {
  // Texts.
  append: perCharacter(1),
  prepend: perCharacter(1),
  capitalize: perCharacter(1),
  downcase: perCharacter(1),
  upcase: perCharacter(1),
  strip: perCharacter(1),
  lstrip: perCharacter(1),
  rstrip: perCharacter(1),
  strip_newlines: perCharacter(2),
  newline_to_br: perCharacter(4),
  strip_html: perCharacter(4),
  squish: perCharacter(4),
  normalize_whitespace: perCharacter(4),
  number_of_words: perCharacter(4),
  truncate: perCharacter(1),
  truncatewords: perCharacter(4),
  slice: perCharacter(1),
  slugify: perCharacter(4),
  escape: perCharacter(4),
  escape_once: perCharacter(8),
  xml_escape: perCharacter(4),
  url_encode: perCharacter(4),
  url_decode: perCharacter(4),
  cgi_escape: perCharacter(6),
  uri_escape: perCharacter(4),
  base64_encode: perCharacter(1),
  base64_decode: perCharacter(2),
  sha256: perCharacter(1),
  hmac_sha256: perCharacter(1),
  replace: search,
  replace_first: search,
  replace_last: search,
  remove: search,
  remove_first: search,
  remove_last: search,
  split: search,
  // Numbers.
  abs: numbers,
  at_least: numbers,
  at_most: numbers,
  ceil: numbers,
  divided_by: numbers,
  floor: numbers,
  minus: numbers,
  modulo: numbers,
  plus: numbers,
  round: numbers,
  times: numbers,
  to_integer: numbers,
  // An amount in the smallest unit of a currency: `{{ amount | money: 'USD', 'de' }}`. Unless given, the currency is the
  // one that stands in the same object as the amount, or the tenant's base currency, and the locale the player's or English.
  money,
  // Lists.
  size: nothing,
  first: nothing,
  last: nothing,
  join: joined,
  array_to_sentence_string: joined,
  reverse: elements,
  compact: elements,
  concat: elements,
  push: elements,
  unshift: elements,
  pop: elements,
  shift: elements,
  uniq: elements,
  sort: sorted,
  sort_natural: sorted,
  map: byProperty,
  where: byProperty,
  reject: byProperty,
  find: byProperty,
  find_index: byProperty,
  has: byProperty,
  group_by: byProperty,
  sum: summed,
  // Others.
  default: nothing,
  json: perCharacter(4),
  jsonify: perCharacter(4),
  inspect: perCharacter(4),
  date,
  date_to_xmlschema: ofNamedDate,
  date_to_rfc822: ofNamedDate,
  date_to_string: ofNamedDate,
  date_to_long_string: ofNamedDate,
};

/** Filters whose result is an amount in the currency of their operands. All others take amounts for mere numbers. */
const OF_AMOUNTS = new Set(
  'abs at_least at_most ceil divided_by floor minus modulo plus round times to_integer'.split(' '),
);

/** Filters that read arguments as counts or positions. The library takes no bigint there. */
const WITH_COUNTS = new Set(['slice', 'truncate', 'truncatewords']);
const asCount = (value: unknown): unknown => {
  const plain: unknown = toValue(value);
  return typeof plain === 'bigint' ? Number(plain) : value;
};

/** Filters that the library does not have, or not as Liquid has them. */
const OWN: Readonly<Record<string, Handler>> = {
  money(amount, currency, locale) {
    const { [MONEY]: context } = this.context.globals as { [MONEY]?: MoneyContext };
    return moneyText(context, amount, currency, locale);
  },
  default(value, ...args) {
    const is_number = value instanceof Amount || value instanceof Exact;
    return is_number ? value : (ALL.default as Handler).call(this, value, ...args);
  },
  date: formatDate,
  date_to_xmlschema: namedDate(ALL.date_to_xmlschema as Handler),
  date_to_rfc822: namedDate(ALL.date_to_rfc822 as Handler),
  date_to_string: namedDate(ALL.date_to_string as Handler),
  date_to_long_string: namedDate(ALL.date_to_long_string as Handler),
  ...ARITHMETIC,
  json: (value) => exactJson(value),
  jsonify: (value) => exactJson(value),
  inspect: (value) => exactJson(value),
};

/** Leaves the engine with the allowed filters alone, each of which charges for its work before it begins. */
export function boundFilters(engine: Liquid): void {
  for (const name of Object.keys(engine.filters)) {
    if (!Object.hasOwn(CHARGES, name)) engine.unregisterFilter(name);
  }
  for (const [name, charge] of Object.entries(CHARGES)) {
    const filter = OWN[name] ?? (ALL as unknown as Record<string, Handler>)[name];
    if (filter !== undefined) engine.registerFilter(name, boundFilter(name, filter, charge));
  }
}

/** A filter of the engine's own under the charge of the one that it replaces. */
export function replaceFilter(engine: Liquid, name: string, filter: (value: unknown) => unknown): void {
  engine.registerFilter(
    name,
    boundFilter(name, filter, (CHARGES as Partial<Record<string, Charge>>)[name] ?? perCharacter(4)),
  );
}

function boundFilter(name: string, filter: Handler, charge: Charge): Handler {
  const is_date = charge === date || charge === ofNamedDate;
  const argumentOf = is_date || WITH_COUNTS.has(name) ? (value: unknown) => asCount(plainOf(value)) : plainOf;
  return function bounded(this: { context: Context }, value: unknown, ...args: unknown[]) {
    charge(this.context.memoryLimit, value, args);
    if (name === 'money' || name === 'default') return filter.call(this, value, ...args);
    const given = plainOf(value);
    // That number of seconds is not a date, and a date filter gives it back as it is.
    if (is_date && typeof toValue(given) === 'bigint') return given;
    const result = filter.call(this, given, ...args.map(argumentOf));
    return OF_AMOUNTS.has(name) ? computedOf([value, ...args], result) : result;
  };
}
