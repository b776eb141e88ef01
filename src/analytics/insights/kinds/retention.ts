import { validationError } from '../../../errors.ts';
import { nextLocal } from '../../../platform/local-intervals.ts';
import { Bindings } from '../../../segments/sql/bindings.ts';
import {
  columnOf,
  type Cell,
  type Column,
  type Figures,
  type InsightKind,
  type InsightScope,
  type Plan,
  type Row,
  type Statement,
} from '../kind.ts';
import { MAX_COHORTS } from '../limits.ts';
import { ACTIVITY, basisSql, MEASURE_SQL } from '../metrics/measure-queries.ts';
import type { Interval, RetentionQuery } from '../schema.ts';
import { readWhere } from '../sql/filter.ts';
import { lessDeductions } from '../../../ledger/money/deductions.ts';
import { measureAmount, moneyAmount } from './amount-queries.ts';
import type { RetentionCellRef } from './cells.ts';
import type { EventChoice, Span } from './events-queries.ts';
import {
  countReturns,
  listReturned,
  type Periods,
  type Retention,
  type RetentionCell,
  type RetentionRow,
} from './retention-queries.ts';

/** Who came back in each interval after the one in which a player entered, and what each interval brought. */
export const RETENTION: InsightKind<RetentionQuery, RetentionCellRef> = { plan, players };

const DAY_MS = 86_400_000;
/** Lengths of rolling intervals: multiples of 24 hours. */
const ROLLING_MS: Partial<Record<Interval, number>> = { day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS };
const COHORT_EVENTS = { first_deposit: 'deposit_confirmed', signup: 'signup' } as const;

/** A retention with what its answer needs. */
interface Asked {
  retention: Retention;
  /** When cohorts end, in their order. */
  ends_ms: readonly number[];
  /** When a period of a cohort lies: of calendar intervals; undefined: of lengths. */
  spanOf: ((cohort: number, period: number) => Span) | undefined;
  /** When a period of a cohort is over for all of its members. */
  endOf: (cohort: number, period: number) => number;
}

function asked(
  query: RetentionQuery,
  { steps, zone, reporting, are_first_deposits_known }: InsightScope,
): Asked {
  const { starts_ms, interval, to_ms: end_ms } = steps;
  const count = starts_ms.length;
  if (count > MAX_COHORTS)
    throw validationError([
      { path: 'range', message: `has ${count} intervals: a retention has at most ${MAX_COHORTS} cohorts` },
    ]);
  const length_ms = ROLLING_MS[interval];
  if (length_ms === undefined)
    throw validationError([{ path: 'interval', message: 'must be day, week or month' }]);
  const bounds_ms = [...starts_ms, end_ms];
  while (bounds_ms.length < 2 * count) bounds_ms.push(nextLocal(zone, interval, bounds_ms.at(-1) ?? end_ms));
  const bound = (n: number) => bounds_ms[n] ?? end_ms;
  const is_rolling = query.mode === 'rolling_24h';
  const periods: Periods = is_rolling
    ? { mode: 'rolling', length_ms, count }
    : { mode: 'calendar', starts_ms: bounds_ms.slice(0, -1), end_ms: bound(bounds_ms.length - 1) };
  const { value } = query;
  const deductions = value === 'ngr' ? reporting.deductions : [];
  const values = [
    ...(value === undefined ? [] : [moneyAmount(value, reporting.bonus_cost, 'value')]),
    ...deductions.map((deduction) => measureAmount(basisSql(deduction), 'value')),
  ];
  return {
    retention: {
      starts_ms,
      end_ms,
      cohort: choiceOf(
        typeof query.cohort === 'string' ? { event: COHORT_EVENTS[query.cohort] } : query.cohort,
        'cohort',
      ),
      is_of_players: query.cohort === 'first_deposit' && are_first_deposits_known,
      returns: returnsOf(query.returns),
      values,
      periods,
    },
    ends_ms: bounds_ms.slice(1, count + 1),
    spanOf: is_rolling
      ? undefined
      : (cohort, period) => ({ from_ms: bound(cohort + period), to_ms: bound(cohort + period + 1) }),
    endOf: (cohort, period) =>
      is_rolling ? bound(cohort + 1) + (period + 1) * length_ms : bound(cohort + period + 1),
  };
}

function choiceOf({ event, where }: Exclude<RetentionQuery['cohort'], string>, path: string): EventChoice {
  return { event, where: readWhere(event, where, path) };
}

function returnsOf(returns: RetentionQuery['returns']): Retention['returns'] {
  if (typeof returns !== 'string') return choiceOf(returns, 'returns');
  if (returns === 'active') return ACTIVITY;
  return MEASURE_SQL[returns === 'bet' ? 'bettors' : 'depositors'].events ?? [];
}

function plan(query: RetentionQuery, scope: InsightScope): Plan {
  const of = asked(query, scope);
  return {
    statements: [countReturns(of.retention, { bindings: new Bindings(), filter: scope.filter })],
    read: ([rows = []]) => figuresOf(query, scope, of, rows as unknown as readonly RetentionRow[]),
    is_of_events_alone: false,
  };
}

/** What a cell comes to. */
interface Counted {
  players: bigint;
  value_players: bigint;
  value: bigint;
}

const NOTHING: Counted = { players: 0n, value_players: 0n, value: 0n };

/** The cells by cohort and number of the period, and the sizes of cohorts. */
function cellsOf(
  { retention, spanOf }: Asked,
  deductions: InsightScope['reporting']['deductions'],
  rows: readonly RetentionRow[],
) {
  const { starts_ms, periods } = retention;
  const numbers = new Map(starts_ms.map((start_ms, i) => [String(start_ms), i]));
  const steps = new Map(
    (periods.mode === 'calendar' ? periods.starts_ms : []).map((start_ms, i) => [String(start_ms), i]),
  );
  const sizes = new Map<number, bigint>();
  const cells = new Map<string, Counted>();
  for (const { cohort, period, players, value_players, sums } of rows) {
    const number = numbers.get(cohort) ?? -1;
    if (period === null) sizes.set(number, BigInt(players));
    else {
      const n = spanOf === undefined ? Number(period) : (steps.get(period) ?? -1) - number;
      const [sum = 0n, ...bases] = sums.map(BigInt);
      const value = lessDeductions(sum, bases, deductions);
      cells.set(`${number} ${n}`, {
        players: BigInt(players),
        value_players: BigInt(value_players),
        value,
      });
    }
  }
  return {
    size: (cohort: number) => sizes.get(cohort) ?? 0n,
    cell: (cohort: number, period: number) => cells.get(`${cohort} ${period}`) ?? NOTHING,
  };
}

function figuresOf(
  query: RetentionQuery,
  { now_ms, reporting }: InsightScope,
  of: Asked,
  rows: readonly RetentionRow[],
): Figures {
  const { starts_ms } = of.retention;
  const deductions = query.value === 'ngr' ? reporting.deductions : [];
  const { size, cell } = cellsOf(of, deductions, rows);
  const has_value = query.value !== undefined;
  const periods = starts_ms.map((_, period) => period);
  const isOver = (cohort: number, period: number) => of.endOf(cohort, period) <= now_ms;
  const money = (counted: Counted): Cell[] => (has_value ? [counted.value_players, counted.value] : []);
  const none: Cell[] = has_value ? [null, null] : [];
  const rowOf = (start_ms: number, cohort: number, period: number): Row => {
    const head = [new Date(start_ms).toISOString(), period, isOver(cohort, period), size(cohort)];
    if (!isOver(cohort, period)) return [...head, null, null, ...none];
    const counted = cell(cohort, period);
    const rate = { numerator: counted.players, denominator: size(cohort) };
    return [...head, counted.players, rate, ...money(counted)];
  };
  const totals = periods.flatMap((period): Row[] => {
    const over = periods.filter((cohort) => isOver(cohort, period));
    const members = over.reduce((sum, cohort) => sum + size(cohort), 0n);
    const all = over.reduce((sum, cohort) => plus(sum, cell(cohort, period)), NOTHING);
    const rate = { numerator: all.players, denominator: members };
    return over.length === 0 ? [] : [[null, period, true, members, all.players, rate, ...money(all)]];
  });
  return {
    columns: columnsOf(has_value),
    rows: starts_ms.flatMap((start_ms, cohort) => periods.map((period) => rowOf(start_ms, cohort, period))),
    totals,
    other: null,
  };
}

function plus(a: Counted, b: Counted): Counted {
  return {
    players: a.players + b.players,
    value_players: a.value_players + b.value_players,
    value: a.value + b.value,
  };
}

function columnsOf(has_value: boolean): Column[] {
  return [
    columnOf('cohort', 'Cohort', 'time'),
    columnOf('period', 'Period', 'number'),
    columnOf('is_complete', 'Complete', 'bool'),
    columnOf('size', 'Players of the cohort', 'count'),
    columnOf('players', 'Players who returned', 'count'),
    columnOf('retention', 'Share who returned', 'rate'),
    ...(has_value
      ? [columnOf('value_players', 'Players with money', 'count'), columnOf('value', 'Money', 'money')]
      : []),
  ];
}

function players(query: RetentionQuery, scope: InsightScope, cell: RetentionCellRef): Statement {
  const { retention, ends_ms, spanOf } = asked(query, scope);
  const { period, of } = cell;
  const number = retention.starts_ms.indexOf(Date.parse(cell.cohort));
  const [from_ms, to_ms] = [retention.starts_ms[number], ends_ms[number]];
  if (from_ms === undefined || to_ms === undefined)
    throw validationError([{ path: 'cell.cohort', message: 'must be when a cohort begins' }]);
  if (period !== undefined && period >= retention.starts_ms.length)
    throw validationError([{ path: 'cell.period', message: 'must be the number of a period' }]);
  if (of === 'value' && query.value === undefined)
    throw validationError([{ path: 'cell.of', message: 'belongs to a query with a value' }]);
  const meant: RetentionCell = {
    cohort: { from_ms, to_ms },
    period: period === undefined || spanOf === undefined ? period : spanOf(number, period),
    of,
  };
  return listReturned(retention, meant, { bindings: new Bindings(), filter: scope.filter });
}
