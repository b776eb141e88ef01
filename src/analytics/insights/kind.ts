import type { TimeZone } from '../../platform/time-zone.ts';
import type { JsonText } from '../../platform/exact-json.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { ReportingSettings } from '../../tenants/config/read.ts';
import type { Interval } from './schema.ts';
import type { CompiledFilter } from './sql/filter.ts';

/** What a query is asked within; all kinds get the same. */
export interface InsightScope {
  project: ProjectRef;
  now_ms: number;
  /** Of days and other intervals. */
  zone: TimeZone;
  reporting: ReportingSettings;
  /** The intervals of the range. */
  steps: Steps;
  /** What the range is compared with; undefined: nothing. */
  compared: ComparedSteps | undefined;
  /** Whom and which events the query is about; without a filter both conditions are empty texts. */
  filter: CompiledFilter;
  /** Whether `players` in ClickHouse says of everybody when they first deposited. */
  are_first_deposits_known: boolean;
}

/**
 * How a range is divided: into whole local intervals that begin at these times, the first with the range, in their order. `to_ms` is
 * exclusive. An interval is over when its end is not after now.
 */
export interface Steps {
  from_ms: number;
  to_ms: number;
  starts_ms: readonly number[];
  interval: Interval;
}

/** What a range is compared with. */
export interface ComparedSteps extends Steps {
  /** For each interval of the range, when the one begins that it is compared with; undefined: the clocks have skipped it. */
  pairs_ms: readonly (number | undefined)[];
}

/**
 * A statement of ClickHouse. The runner adds the parameters `tenant_id`, `project_id` and `now_ms` and the settings that
 * limit it. Every value of a caller is a parameter. Numbers beyond 53 bits are selected by `toString`.
 */
export interface Statement {
  sql: string;
  params: Readonly<Record<string, unknown>>;
}

/** Never divided; a denominator of 0 has no rate. */
export interface Rate {
  numerator: bigint;
  denominator: bigint;
}

/** A value of a row. Money is a bigint in the smallest unit of the base currency; a time is ISO-8601 text. */
export type Cell = bigint | number | string | boolean | Rate | JsonText | null;
export type Row = readonly Cell[];

export interface Column {
  name: string;
  label: string;
  type: 'time' | 'text' | 'bool' | 'count' | 'money' | 'number' | 'rate';
  /** Of a trend: the number of the series; null: of none. */
  series: number | null;
  /** Whether it is of the range that is compared with. */
  is_compared: boolean;
}

/** The figures of a query; rows have a cell for each column. */
export interface Figures {
  columns: readonly Column[];
  rows: readonly Row[];
  /** Over the whole range. */
  totals: readonly Row[];
  /** What the rows of groups leave; null without a breakdown. */
  other: readonly Row[] | null;
  /** Absent: counts are exact. Otherwise their relative standard error. */
  error?: number;
}

/** How the figures of one query are computed. */
export interface Plan {
  /** They run one after the other; mostly one. */
  statements: readonly Statement[];
  /** The figures, from the rows of each statement. Pure. */
  read: (answers: readonly (readonly Record<string, unknown>[])[]) => Figures;
  /**
   * Whether closed days stay as they are until one of their events is written anew: the figures depend on nothing but the events of
   * the range. False for what also depends on players, segments, messages or now.
   */
  is_of_events_alone: boolean;
  /** The names of the events that the figures depend on; absent: all. */
  events?: readonly string[] | undefined;
}

/** A kind of insights. Both functions are pure; they throw VALIDATION_ERROR for what the schema cannot refuse. */
export interface InsightKind<Query, CellRef> {
  plan: (query: Query, scope: InsightScope) => Plan;
  /**
   * The players of a figure, each once, with what it adds to the figure: a statement that selects `player_id` (UUID) and
   * `value` (a number). Who calls sorts, pages and joins external ids. The sum of the values, or of players of a
   * count their number, is the figure.
   */
  players: (query: Query, scope: InsightScope, cell: CellRef) => Statement;
}

/** A column of no series; one of the range that is compared with has it in its name. */
export function columnOf(name: string, label: string, type: Column['type'], is_compared = false): Column {
  return { name: is_compared ? `${name}.compared` : name, label, type, series: null, is_compared };
}

/** The name, or the next of `name_2`, `name_3` … that is not taken; it is taken then. */
export function unusedName(name: string, taken: Set<string>): string {
  let unused = name;
  for (let n = 2; taken.has(unused); n++) unused = `${name}_${n}`;
  taken.add(unused);
  return unused;
}
