import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { OWNER, SCOPE } from '../../segments/sql/owner-sql.ts';
import { BET_EVENTS } from '../../ledger/money/ledger.ts';
import { GGR_SQL, named, NGR_EVENTS, NGR_SQL } from '../../ledger/money/ngr-sql.ts';
import {
  firstDepositsSql,
  MEASURE_SQL,
  stepOf,
  within,
  type Measure,
} from '../../analytics/insights/metrics/measure-queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** Limits of a question about all events of a range. */
export const LIMITS = 'settings max_execution_time = 30, max_memory_usage = 3000000000';

/** Times in milliseconds since the epoch; `to_ms` is exclusive. */
export interface Range {
  from_ms: number;
  to_ms: number;
}

/** How a range is divided: into steps that begin at these times, the first with the range, in their order. */
export interface Steps extends Range {
  starts_ms: readonly number[];
}

/** The sum or count of one step, which is named by the digits of its beginning; steps without any are absent. */
export interface StepRow {
  step: string;
  value: string;
}

interface Figure {
  events: readonly string[];
  /** What one of the events adds, as SQL; the sum has 128 bits. */
  adds: string;
}

/** A measure of insights, which is made of events. */
function measured(name: Measure): Figure {
  const { events = [], adds = '0' } = MEASURE_SQL[name];
  return { events, adds };
}

/**
 * The figures of money, each as the sum over events in the smallest unit of the base currency: the measures of insights, GGR,
 * and NGR unless the project has settings for it (ngr-queries.ts). So the days of a range add up to the totals of the players.
 */
const FIGURES = {
  deposits: measured('deposits'),
  withdrawals: measured('withdrawals'),
  deposits_reversed: measured('deposits_reversed'),
  withdrawals_reversed: measured('withdrawals_reversed'),
  wagered: measured('wagered'),
  won: measured('won'),
  bonus_wagered: measured('bonus_wagered'),
  bonus_won: measured('bonus_won'),
  ggr: { events: BET_EVENTS, adds: GGR_SQL },
  credited: measured('credited'),
  debited: measured('debited'),
  ngr: { events: NGR_EVENTS, adds: NGR_SQL },
} satisfies Record<string, Figure>;
export type MoneyFigure = keyof typeof FIGURES;
export const MONEY_FIGURES = Object.keys(FIGURES) as readonly MoneyFigure[];

const sumOf = ({ events, adds }: Figure) => `toString(sumIf(toInt128(${adds}), ${named(events)}))`;

/** What a project's events come to, as digits. */
export interface EventSums extends Record<MoneyFigure, string> {
  active_players: string;
  events: string;
}

/** The columns of events of which money is made. */
const MONEY_COLUMNS = 'base_amount, stake_counted, payout_counted, bonus_stake_counted, bonus_payout_counted';

/** The sums of a range; players count once if they have one of the `activity` events. */
export async function sumEvents(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  range: Range,
  activity: readonly string[],
): Promise<EventSums> {
  const [row] = await clickhouse.query<EventSums>(
    `select ${MONEY_FIGURES.map((name) => `${sumOf(FIGURES[name])} as ${name}`).join(', ')},
      toString(uniqExactIf(owner, event in ({activity:Array(String)}))) as active_players,
      toString(count()) as events
    from (select event, ${MONEY_COLUMNS}, ${OWNER} from events final where ${SCOPE} and ${within('occurred_at')})
    ${LIMITS}`,
    { ...project, ...range, activity },
  );
  if (row === undefined) throw new Error('a sum over all rows is one row');
  return row;
}

/** A figure per step. */
export async function moneyByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  name: MoneyFigure,
): Promise<StepRow[]> {
  const { events, adds } = FIGURES[name];
  return clickhouse.query<StepRow>(
    `select toString(${stepOf('occurred_at')} as n) as step, toString(sum(toInt128(${adds}))) as value
    from events final where ${SCOPE} and ${named(events)} and ${within('occurred_at')}
    group by n ${LIMITS}`,
    { ...project, ...steps },
  );
}

/** Events per step: those of one name, or all. */
export async function eventsByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  event: string | undefined,
): Promise<StepRow[]> {
  const of_name = event === undefined ? '' : 'and event = {event:String}';
  return clickhouse.query<StepRow>(
    `select toString(${stepOf('occurred_at')} as n) as step, toString(count()) as value
    from events final where ${SCOPE} ${of_name} and ${within('occurred_at')}
    group by n ${LIMITS}`,
    { ...project, ...steps, event },
  );
}

/** Players with one of the events per step, each once in a step. */
export async function playersByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  events: readonly string[],
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select toString(n) as step, toString(uniqExact(owner)) as value
    from (select ${stepOf('occurred_at')} as n, ${OWNER} from events
      where ${SCOPE} and event in ({events:Array(String)}) and ${within('occurred_at')})
    group by n ${LIMITS}`,
    { ...project, ...steps, events },
  );
}

/** Players whose first confirmed deposit is in a step; see {@link firstDepositsSql}. */
export async function firstDepositsByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  are_known: boolean,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select toString(${stepOf('first_at')} as n) as step, toString(count()) as value
    from (${firstDepositsSql((column) => within(column), are_known)}) where ${within('first_at')}
    group by n ${LIMITS}`,
    { ...project, ...steps },
  );
}

/** Players whose first confirmed deposit is in each of two ranges, as digits: in one statement, for half of the time of two. */
export async function countFirstDeposits(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  { now, before, are_known }: { now: Range; before: Range; are_known: boolean },
): Promise<{ now: string; before: string }> {
  const of_now = (column: string) => within(column);
  const of_before = (column: string) => within(column, 'before_');
  const [row] = await clickhouse.query<{ now: string; before: string }>(
    `select toString(countIf(${of_now('first_at')})) as now, toString(countIf(${of_before('first_at')})) as before
    from (${firstDepositsSql((column) => `(${of_now(column)} or ${of_before(column)})`, are_known)}) ${LIMITS}`,
    { ...project, ...now, before_from_ms: before.from_ms, before_to_ms: before.to_ms },
  );
  return row ?? { now: '0', before: '0' };
}

/** Players that were first known in a step. */
export async function newPlayersByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select toString(${stepOf('created_at')} as n) as step, toString(count()) as value
    from players final where ${SCOPE} and ${within('created_at')} and deleted_at is null
    group by n ${LIMITS}`,
    { ...project, ...steps },
  );
}
