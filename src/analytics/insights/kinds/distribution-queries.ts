import { IS_LEFT } from '../../../segments/sql/owner-sql.ts';
import {
  eventsSql,
  isNamed,
  playersOf,
  statementOf,
  within,
  type Amount,
  type Population,
  type Span,
} from './events-queries.ts';
import type { Statement } from '../kind.ts';

/** What each player comes to in a span: those with any event of the amount. */
export interface Distribution extends Span {
  amount: Amount;
  parts: PartsWanted;
}

/** So many parts of equally many players; or by value: where parts end, ascending, digits of whole numbers. */
export type PartsWanted = { equal: number } | { cuts: readonly string[] };

/** Which values are reported, by their share of the players in hundredths, the least first. */
export const QUANTILES = [1, 5, 10, 25, 50, 75, 90, 95, 99] as const;
/** The share of the players that the highest values are reported of: one in so many. */
const TOP = 100;

/** A distribution. Numbers are digits; of parts there is an element each, the least values first. */
export interface DistributionRow {
  players: string;
  value: string;
  /** As `quantilesExact` gives them; without players 0. */
  quantiles: string[];
  part_players: string[];
  part_values: string[];
  /** The least and the greatest value of a part; of a part without players any. */
  least: string[];
  greatest: string[];
  /** The players with the highest values: one in a hundred, rounded up. */
  top_players: string;
  top_value: string;
}

/** The distribution, one {@link DistributionRow}. */
export function readDistribution(distribution: Distribution, population: Population): Statement {
  const { bindings } = population;
  const { parts } = distribution;
  const cuts = 'cuts' in parts ? parts.cuts : [];
  const below = cuts.map((cut, i) => `, countIf(value < ${bindings.bind('Int128', cut)}) as below_${i}`);
  const sorted =
    `select count() as n, arraySort(groupArray(value)) as s${below.join('')}\n` +
    `from (${valuesSql(distribution, population)})`;
  const ends =
    'equal' in parts
      ? Array.from({ length: parts.equal + 1 }, (_, i) => `intDiv(n * ${i}, ${parts.equal})`)
      : ['0', ...cuts.map((_, i) => `below_${i}`), 'n'];
  const spans = ends.slice(1).map((to, i) => ({ from: ends[i] ?? '0', to }));
  const listed = (name: string, one: (part: { from: string; to: string }) => string) =>
    `[${spans.map((part) => `toString(${one(part)})`).join(', ')}] as ${name}`;
  const top = `intDiv(n + ${TOP - 1}, ${TOP})`;
  const columns = [
    'toString(n) as players',
    'toString(arraySum(s)) as value',
    `[${QUANTILES.map((share) => `toString(s[intDiv(n * ${share}, 100) + 1])`).join(', ')}] as quantiles`,
    listed('part_players', ({ from, to }) => `${to} - ${from}`),
    listed('part_values', ({ from, to }) => sumOf(from, to)),
    listed('least', ({ from }) => `s[${from} + 1]`),
    listed('greatest', ({ to }) => `s[${to}]`),
    `toString(${top}) as top_players`,
    `toString(${sumOf(`n - ${top}`, 'n')}) as top_value`,
  ];
  return statementOf(`select ${columns.join(',\n  ')}\nfrom (${sorted})`, population);
}

/**
 * Which players of a distribution: by their value (at least `from`, below `to`, digits), or by their place, 1 for the highest
 * value, of two equal ones the lower id first; both ends included.
 */
export type DistributionCell =
  { from?: string | undefined; to?: string | undefined } | { first: number; last: number };

/** The players of a cell, with their values. */
export function listDistribution(
  distribution: Distribution,
  cell: DistributionCell,
  population: Population,
): Statement {
  const { bindings } = population;
  const values = valuesSql(distribution, population);
  if ('first' in cell) {
    const count = bindings.bind('UInt64', cell.last - cell.first + 1);
    const before = bindings.bind('UInt64', cell.first - 1);
    const sql = `select owner, value from (${values}) order by value desc, owner limit ${count} offset ${before}`;
    return playersOf(sql, population);
  }
  const ends = [
    ...(cell.from === undefined ? [] : [`value >= ${bindings.bind('Int128', cell.from)}`]),
    ...(cell.to === undefined ? [] : [`value < ${bindings.bind('Int128', cell.to)}`]),
  ];
  const where = ends.length === 0 ? '' : ` where ${ends.join(' and ')}`;
  return playersOf(`select owner, value from (${values})${where}`, population);
}

/** What each player comes to: `owner`, `value`. */
function valuesSql({ amount, ...span }: Distribution, population: Population): string {
  const { bindings } = population;
  const read = [isNamed(amount.events, bindings), within(span, bindings)];
  const events = eventsSql([`toInt128(${amount.adds}) as adds`], read, population);
  const value = amount.is_distinct === true ? 'toInt128(uniqExact(adds))' : 'sum(adds)';
  return `select owner, ${value} as value from (${events}) group by owner having ${IS_LEFT}`;
}

/** The sum of the values of `s` behind the first `from` up to the one at `to`. */
function sumOf(from: string, to: string): string {
  return `arraySum(arraySlice(s, ${from} + 1, ${to} - (${from})))`;
}
