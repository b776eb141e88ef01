import { validationError } from '../../../errors.ts';
import { nextLocal, startOfLocal } from '../../../platform/local-intervals.ts';
import { Bindings } from '../../../segments/sql/bindings.ts';
import {
  columnOf,
  type Column,
  type Figures,
  type InsightKind,
  type InsightScope,
  type Plan,
  type Row,
  type Statement,
} from '../kind.ts';
import type { DistributionQuery } from '../schema.ts';
import { metricOf } from '../metrics/dictionary.ts';
import { activeDays, BETS, moneyAmount } from './amount-queries.ts';
import type { DistributionCellRef } from './cells.ts';
import {
  listDistribution,
  QUANTILES,
  readDistribution,
  type Distribution,
  type DistributionRow,
  type PartsWanted,
} from './distribution-queries.ts';
import type { Amount } from './events-queries.ts';

/** What players come to in a range, and what depends on few of them. */
export const DISTRIBUTION: InsightKind<DistributionQuery, DistributionCellRef> = {
  plan,
  players,
};

function partsOf({ cuts }: DistributionQuery): PartsWanted {
  if (cuts === 'deciles') return { equal: 10 };
  if (cuts === 'percentiles') return { equal: 100 };
  if (cuts.some((cut, i) => i > 0 && cut <= (cuts[i - 1] ?? cut)))
    throw validationError([{ path: 'cuts', message: 'must be ascending' }]);
  return { cuts: cuts.map(String) };
}

function amountOf({ value }: DistributionQuery, scope: InsightScope, bindings: Bindings): Amount {
  if (value === 'bets') return BETS;
  if (value !== 'active_days') return moneyAmount(value, scope.reporting.bonus_cost, 'value');
  const { zone, steps } = scope;
  const days: number[] = [];
  for (
    let at_ms = startOfLocal(zone, 'day', steps.from_ms);
    at_ms < steps.to_ms;
    at_ms = nextLocal(zone, 'day', at_ms)
  )
    days.push(at_ms);
  return activeDays(bindings.bind('Array(Int64)', days));
}

function distributionOf(query: DistributionQuery, scope: InsightScope, bindings: Bindings): Distribution {
  const { from_ms, to_ms } = scope.steps;
  return { from_ms, to_ms, amount: amountOf(query, scope, bindings), parts: partsOf(query) };
}

function plan(query: DistributionQuery, scope: InsightScope): Plan {
  const bindings = new Bindings();
  const distribution = distributionOf(query, scope, bindings);
  return {
    statements: [readDistribution(distribution, { bindings, filter: scope.filter })],
    read: ([rows = []]) => figuresOf(query, distribution.parts, rows[0] as unknown as DistributionRow),
    is_of_events_alone: false,
  };
}

function figuresOf(query: DistributionQuery, parts: PartsWanted, row: DistributionRow): Figures {
  const players = BigInt(row.players);
  const total = BigInt(row.value);
  const shareOf = (value: bigint) => ({ numerator: value, denominator: total });
  let below = 0n;
  const rows = row.part_players.map((count, i): Row => {
    const members = BigInt(count);
    const value = BigInt(row.part_values[i] ?? '0');
    const end = (values: readonly string[]) => (members === 0n ? null : BigInt(values[i] ?? '0'));
    const [from, to] =
      'cuts' in parts
        ? [bound(parts.cuts[i - 1]), bound(parts.cuts[i])]
        : [end(row.least), end(row.greatest)];
    below += members;
    const [first, last] = members === 0n ? [null, null] : [players - below + 1n, players - below + members];
    return [partName(parts, i), from, to, first, last, members, value, shareOf(value)];
  });
  const quantiles = QUANTILES.map((share, i): Row => {
    const value = players === 0n ? null : BigInt(row.quantiles[i] ?? '0');
    return [`p${share}`, value, value, null, null, null, null, null];
  });
  const top_players = BigInt(row.top_players);
  const top_value = BigInt(row.top_value);
  const [first, last] = players === 0n ? [null, null] : [1n, top_players];
  return {
    columns: columnsOf(query),
    rows,
    totals: [
      [
        'all',
        null,
        null,
        players === 0n ? null : 1n,
        players === 0n ? null : players,
        players,
        total,
        shareOf(total),
      ],
      ['top 1 %', null, null, first, last, top_players, top_value, shareOf(top_value)],
      ...quantiles,
    ],
    other: null,
  };
}

function bound(cut: string | undefined): bigint | null {
  return cut === undefined ? null : BigInt(cut);
}

function partName(parts: PartsWanted, i: number): string {
  return 'cuts' in parts ? `bucket ${i + 1}` : `${parts.equal === 10 ? 'decile' : 'percentile'} ${i + 1}`;
}

/** What the values are: of NGR that they are before deductions, which no player has a part of. */
function labelOf(value: DistributionQuery['value']): string {
  if (value === 'bets') return 'Bets';
  if (value === 'active_days') return 'Active days';
  return metricOf(value === 'ngr' ? 'ngr_before_deductions' : value).label;
}

function columnsOf({ value }: DistributionQuery): Column[] {
  const type = value === 'bets' || value === 'active_days' ? 'count' : 'money';
  return [
    columnOf('part', 'Part', 'text'),
    columnOf('from', 'From', type),
    columnOf('to', 'To', type),
    columnOf('first', 'First place', 'count'),
    columnOf('last', 'Last place', 'count'),
    columnOf('players', 'Players', 'count'),
    columnOf('value', labelOf(value), type),
    columnOf('share', 'Share of the value', 'rate'),
  ];
}

function players(query: DistributionQuery, scope: InsightScope, cell: DistributionCellRef): Statement {
  const bindings = new Bindings();
  const distribution = distributionOf(query, scope, bindings);
  const meant = 'first' in cell ? cell : { from: text(cell.from), to: text(cell.to) };
  return listDistribution(distribution, meant, { bindings, filter: scope.filter });
}

function text(value: number | bigint | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}
