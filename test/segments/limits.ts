import { and, count, trait } from './example-shapes.ts';

/** A size limit of the language: the largest (and smallest) accepted size, and a definition of size `n`. */
export interface Limit {
  what: string;
  most: number;
  least?: number;
  definition: (n: number) => unknown;
}

const bets = count('bet_placed', 'gte', 1);
const times = <T>(n: number, one: T): T[] => Array.from({ length: n }, () => one);
const nested = (depth: number): unknown =>
  depth === 1 ? and(bets) : { operator: 'AND', conditions: [nested(depth - 1)] };
/** n conditions in groups of ten, so that no group exceeds its own limit. */
const inTens = (n: number) => {
  const groups = Array.from({ length: Math.ceil(n / 10) }, (_, i) =>
    and(...times(Math.min(10, n - i * 10), bets)),
  );
  return and(...groups);
};
const steps = (n: number) => and({ type: 'sequence', steps: times(n, { event: 'login' }) });
const within = (value: unknown) => and(trait('created_at', 'within_last', value));
const random = (percent: number, salt = 'spring') => and({ type: 'random', percent, salt });
const withWhere = (where: { property: string; op: string; value: unknown }[]) =>
  and(count('bet_placed', 'gte', 1, { where }));
/** A definition of n bytes, spread over many texts, none of which exceeds its own limit. */
const ofBytes = (n: number) => {
  const filled = (texts: string[]) => and(trait('email', 'in', ['', ...texts]));
  const thousands = times(60, 'x'.repeat(1_000));
  const rest = n - Buffer.byteLength(JSON.stringify(filled([...thousands, ...times(6, '')])));
  const length = (i: number) => Math.floor(rest / 6) + (i < rest % 6 ? 1 : 0);
  return filled([...thousands, ...times(6, '').map((_, i) => 'x'.repeat(length(i)))]);
};

/** A definition of n bytes, most of them in a list of ids. */
const ofBytesWithIds = (n: number) => {
  const listed = (texts: string[]) => and(trait('external_id', 'in', texts));
  const thousands = times(780, 'x'.repeat(1_000));
  const rest = n - Buffer.byteLength(JSON.stringify(listed([...thousands, ...times(6, '')])));
  const length = (i: number) => Math.floor(rest / 6) + (i < rest % 6 ? 1 : 0);
  return listed([...thousands, ...times(6, '').map((_, i) => 'x'.repeat(length(i)))]);
};

/** The limits of the language; docs/segment-reference.md shows them. */
export const LIMITS: readonly Limit[] = [
  {
    what: 'bytes of JSON of a definition, without the lists of `external_id`',
    most: 65_536,
    definition: ofBytes,
  },
  { what: 'bytes of JSON of a definition', most: 786_432, definition: ofBytesWithIds },
  { what: 'levels of groups', most: 5, definition: nested },
  { what: 'conditions in a definition', most: 50, definition: inTens },
  { what: 'conditions and groups in a group', least: 1, most: 50, definition: (n) => and(...times(n, bets)) },
  {
    what: 'comparisons in `where`',
    most: 10,
    definition: (n) => withWhere(times(n, { property: 'game_id', op: 'eq', value: 'a' })),
  },
  { what: 'steps of a sequence', least: 2, most: 10, definition: steps },
  {
    what: 'values of `in` and `nin`',
    least: 1,
    most: 500,
    definition: (n) => and(trait('email', 'in', times(n, 'a'))),
  },
  {
    what: 'values of `in` and `nin` for `external_id`',
    least: 1,
    most: 10_000,
    definition: (n) => and(trait('external_id', 'in', times(n, 'a'))),
  },
  {
    what: 'characters of a string',
    most: 1_024,
    definition: (n) => and(trait('email', 'eq', 'x'.repeat(n))),
  },
  {
    what: 'characters of the key of a custom attribute',
    least: 1,
    most: 200,
    definition: (n) => and(trait(`custom_attributes.${'x'.repeat(n)}`, 'exists')),
  },
  {
    what: 'characters of the name of a property',
    least: 1,
    most: 200,
    definition: (n) => withWhere([{ property: 'x'.repeat(n), op: 'eq', value: 'a' }]),
  },
  { what: 'characters of a salt', least: 1, most: 200, definition: (n) => random(10, 'x'.repeat(n)) },
  { what: 'days of a span', least: 1, most: 36_500, definition: (days) => within({ days }) },
  { what: 'hours of a span', least: 1, most: 876_000, definition: (hours) => within({ hours }) },
  { what: 'percent', least: 0, most: 100, definition: (percent) => random(percent) },
];
