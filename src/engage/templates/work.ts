import { Drop, toValue, type Context } from 'liquidjs';

/**
 * What one message may cost to render, in units of about 25 ns: 25 ms on a processor of 2024. Work is counted instead of
 * timed, so that a template always or never fails, however busy the machine is. Everything that Liquid does is counted
 * before it is done.
 */
export const MAX_WORK = 1_000_000;
/** A tag, an output or a text between them. */
const STEP = 150;
/** A variable, literal, operator or filter inside a tag. */
const PART = 20;
/** An element of a list, or a key of an object, that is visited. */
const ELEMENT = 4;
/** An element whose property is read. */
const PROPERTY = 25;
/** Comparisons of characters per unit, where one text is searched for in another. */
const SEARCHED = 30;
/** Compared characters per unit, where two texts are compared. */
const COMPARED = 32;

/** Counts the work of one message; it throws when {@link MAX_WORK} is exceeded. */
export type Work = Context['memoryLimit'];

/** The cost of rendering a node with this many parts. */
export function nodeCost(parts: number): number {
  return STEP + PART * parts;
}

/**
 * Charges for work on a whole value: `rate` per character, also of what lists and objects contain. Text that occurs in a
 * value more than once is charged each time, as it would be written. Nothing is written or copied here.
 */
export function chargeValue(work: Work, value: unknown, rate = 1): void {
  work.use(weightOf(work, toValue(value)) * rate);
}

/** The weights of lists and objects, which do not change while a message is rendered. */
const weights = new WeakMap<object, number>();

/** The characters in a value, and {@link ELEMENT} for everything that is not a text. */
function weightOf(work: Work, value: unknown): number {
  if (typeof value === 'string') return 1 + value.length;
  if (typeof value !== 'object' || value === null || value instanceof Drop) return ELEMENT;
  const known = weights.get(value);
  if (known !== undefined) return known;
  let weight = 1;
  if (Array.isArray(value)) {
    work.use(value.length * ELEMENT);
    for (const element of value) weight += ELEMENT + weightOf(work, toValue(element));
  } else {
    const keys = Object.keys(value);
    work.use(keys.length * PROPERTY);
    for (const key of keys)
      weight += ELEMENT + key.length + weightOf(work, (value as Record<string, unknown>)[key]);
  }
  weights.set(value, weight);
  return weight;
}

/** Charges for reading a variable whose path has so many parts. */
export function chargePath(work: Work, parts: number): void {
  work.use(PROPERTY * parts);
}

/** Charges for a pass over the elements of a list that reads `path_length` characters of a path in each of them. */
export function chargeElements(work: Work, list: unknown, path_length = 0): void {
  const plain: unknown = toValue(list);
  if (Array.isArray(plain)) work.use(plain.length * (PROPERTY + 10 * path_length));
  else if (typeof plain === 'object' && plain !== null) work.use(keyCount(plain) * PROPERTY);
}

/** Charges for sorting: each character and element as often as a sort may look at it. */
export function chargeSort(work: Work, list: unknown, path_length: number): void {
  const plain: unknown = toValue(list);
  const rounds = Array.isArray(plain) ? Math.ceil(Math.log2(plain.length + 1)) : 1;
  chargeElements(work, list, path_length);
  chargeValue(work, list, rounds / 2);
}

/** Charges for searching a text: V8 compares up to every character of one with every one of the other. */
export function chargeSearch(work: Work, text: unknown, sought: unknown): void {
  const [whole, part] = [toValue(text) as unknown, toValue(sought) as unknown];
  chargeValue(work, whole);
  chargeValue(work, part);
  const length = typeof part === 'string' ? part.length : 1;
  if (typeof whole === 'string') work.use((whole.length * length) / SEARCHED);
}

/** Charges for comparing two values `times` times: texts by their length, lists and objects by all they contain. */
export function chargeComparison(work: Work, left: unknown, right: unknown, times = 1): void {
  for (const side of [toValue(left) as unknown, toValue(right) as unknown]) {
    if (typeof side === 'string') work.use((side.length / COMPARED) * times);
    else if (Array.isArray(side)) chargeValue(work, side, times);
    else if (typeof side === 'object' && side !== null && !(side instanceof Drop))
      chargeValue(work, side, times);
  }
}

const key_counts = new WeakMap<object, number>();

/** How many keys an object has, counted once per object. */
export function keyCount(object: object): number {
  const known = key_counts.get(object);
  if (known !== undefined) return known;
  const count = Object.keys(object).length;
  key_counts.set(object, count);
  return count;
}
