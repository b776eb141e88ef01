import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { OWNER, SCOPE } from '../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** Limits of a question about all events of a range. */
export const LIMITS = 'settings max_execution_time = 30, max_memory_usage = 3000000000';

/** Times in milliseconds since the epoch; `to_ms` is exclusive. */
export interface Range {
  from_ms: number;
  to_ms: number;
}

/** How a range is divided: into steps of the same length, counted from its beginning. */
export interface Steps extends Range {
  step_ms: number;
}

/** The sum or count of one step, as digits; steps without any are absent. */
export interface StepRow {
  step: string;
  value: string;
}

const time = (name: string) => `fromUnixTimestamp64Milli({${name}:Int64}, 'UTC')`;

/** The condition that a time is in the range of the parameters `from_ms` and `to_ms`, whose names may have a prefix. */
export function within(column: string, prefix = ''): string {
  return `${column} >= ${time(`${prefix}from_ms`)} and ${column} < ${time(`${prefix}to_ms`)}`;
}

/** The step of a time in the range: a number to group by, which takes a third of the time of grouping by its digits. */
export function stepOf(column: string): string {
  return stepOfMs(`toUnixTimestamp64Milli(${column})`);
}

const stepOfMs = (at_ms: string) => `intDiv(${at_ms} - {from_ms:Int64}, {step_ms:Int64})`;

/** What a project's events come to, as digits. */
export interface EventSums {
  deposits: string;
  withdrawals: string;
  active_players: string;
  events: string;
}

/** The sums of a range; players count once if they have one of the `activity` events. */
export async function sumEvents(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  range: Range,
  activity: readonly string[],
): Promise<EventSums> {
  const [row] = await clickhouse.query<EventSums>(
    `select toString(sumIf(toInt128(ifNull(base_amount, 0)), event = 'deposit_confirmed')) as deposits,
      toString(sumIf(toInt128(ifNull(base_amount, 0)), event = 'withdrawal_confirmed')) as withdrawals,
      toString(uniqExactIf(owner, event in ({activity:Array(String)}))) as active_players,
      toString(count()) as events
    from (select event, base_amount, ${OWNER} from events final where ${SCOPE} and ${within('occurred_at')})
    ${LIMITS}`,
    { ...project, ...range, activity },
  );
  return row ?? { deposits: '0', withdrawals: '0', active_players: '0', events: '0' };
}

/** Amounts of confirmed events of one name per step. */
export async function amountsByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  event: string,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select toString(${stepOf('occurred_at')} as n) as step, toString(sum(toInt128(ifNull(base_amount, 0)))) as value
    from events final where ${SCOPE} and event = {event:String} and ${within('occurred_at')}
    group by n ${LIMITS}`,
    { ...project, ...steps, event },
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

const DEPOSITS = `${SCOPE} and event = 'deposit_confirmed'`;

/**
 * When those players first deposited who have deposited in a range. All who ever have would take ten times as long.
 * `in_range` is a condition of `occurred_at`.
 */
const firstDeposits = (in_range: string) => `
  select min(occurred_at) as first_at, ${OWNER} from events
  where ${DEPOSITS} and owner in (select ${OWNER} from events where ${DEPOSITS} and (${in_range}))
  group by owner`;

/** Players whose first confirmed deposit is in a step. */
export async function firstDepositsByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select toString(${stepOf('first_at')} as n) as step, toString(count()) as value
    from (${firstDeposits(within('occurred_at'))}) where ${within('first_at')}
    group by n ${LIMITS}`,
    { ...project, ...steps },
  );
}

/** Players whose first confirmed deposit is in each of two ranges, as digits: in one statement, for half of the time of two. */
export async function countFirstDeposits(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  { now, before }: { now: Range; before: Range },
): Promise<{ now: string; before: string }> {
  const of_now = (column: string) => within(column);
  const of_before = (column: string) => within(column, 'before_');
  const [row] = await clickhouse.query<{ now: string; before: string }>(
    `select toString(countIf(${of_now('first_at')})) as now, toString(countIf(${of_before('first_at')})) as before
    from (${firstDeposits(`${of_now('occurred_at')} or ${of_before('occurred_at')}`)}) ${LIMITS}`,
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
    from players final where ${SCOPE} and ${within('created_at')}
    group by n ${LIMITS}`,
    { ...project, ...steps },
  );
}

/** Stakes and payouts of one step, as digits. */
export interface BetSums {
  step: string;
  wagered: string;
  won: string;
}

/**
 * How long before the range a bet is known to have been placed: a settlement whose bet was placed earlier, or never, counts
 * the stake that it names.
 */
const LOOK_BACK_MS = 86_400_000;

const PLACED = `event in ('bet_placed', 'sport_bet_placed')`;
const CASINO_OUTCOME = `event in ('bet_settled', 'bet_won', 'bet_lost')`;
const SPORT_OUTCOME = `event in ('sport_bet_settled', 'sport_cashout', 'sport_bet_voided')`;
const SETTLED = `event in ('bet_settled', 'sport_bet_settled') and base_amount is not null`;
/**
 * When an outcome of a sports bet happened, in quarters of a millisecond, with which of them it is: at equal times a void (2)
 * takes precedence over a cash-out (1), and a cash-out over a settlement, as in the totals of players. One number, because
 * tuples and texts as aggregates take twice as long.
 */
const RANKED = `at_ms * 4 + multiIf(event = 'sport_bet_voided', 2, event = 'sport_cashout', 1, 0)`;
/**
 * A bet has its id at the top of its properties. Where the name occurs once it is that one, and the rest need not be parsed;
 * the service writes properties without spaces, and texts in them have their quotes escaped.
 */
const BET_ID = `if(countSubstrings(properties, '"bet_id":') = 1,
  simpleJSONExtractString(properties, 'bet_id'), JSONExtractString(properties, 'bet_id'))`;

/**
 * Stakes by the time of the bet, payouts by the time of the outcome, each bet once: the rules are those of `betEffect` in
 * src/ledger/money, within the range and a day before it. A voided bet counts nothing. Steps without bets are absent.
 */
export async function betsByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
): Promise<BetSums[]> {
  return clickhouse.query<BetSums>(
    `select toString(${stepOfMs('flow.1')} as n) as step,
      toString(sum(toInt128(flow.2))) as wagered, toString(sum(toInt128(flow.3))) as won
    from (
      select arrayJoin([
        (if(is_placed, placed_at, settled_at), ifNull(if(is_placed, placed, settled), 0), 0),
        (if(sport > 0, intDiv(sport, 4), casino_at), 0, if(sport > 0, sport_payout, casino_payout))
      ]) as flow
      from (
        select sipHash128(is_sport, bet_id) as bet,
          countIf(is_placing) > 0 as is_placed, anyIf(base_amount, is_placing) as placed, minIf(at_ms, is_placing) as placed_at,
          argMaxIf(base_amount, at_ms, is_settled) as settled, maxIf(at_ms, is_settled) as settled_at,
          maxIf(payout, is_casino_outcome) as casino_payout, minIf(at_ms, is_casino_outcome) as casino_at,
          argMaxIf(payout, ranked, is_sport_outcome) as sport_payout, maxIf(ranked, is_sport_outcome) as sport
        from (
          select toUnixTimestamp64Milli(occurred_at) as at_ms, base_amount, ifNull(base_payout, 0) as payout,
            startsWith(event, 'sport_') as is_sport, ${BET_ID} as bet_id, ${RANKED} as ranked,
            ${PLACED} as is_placing, ${CASINO_OUTCOME} as is_casino_outcome, ${SPORT_OUTCOME} as is_sport_outcome,
            ${SETTLED} as is_settled
          from events final
          where ${SCOPE} and (${PLACED} or ${CASINO_OUTCOME} or ${SPORT_OUTCOME})
            and occurred_at >= ${time('known_from_ms')} and occurred_at < ${time('to_ms')}
        )
        group by bet
        having sport = 0 or sport % 4 <> 2
      )
    )
    where flow.1 >= {from_ms:Int64} and flow.1 < {to_ms:Int64}
    group by n ${LIMITS}`,
    { ...project, ...steps, known_from_ms: steps.from_ms - LOOK_BACK_MS },
  );
}
