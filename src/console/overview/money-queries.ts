import type { ClickHouse } from '../../platform/clickhouse/port.ts';
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

/** The condition that a time is in the range of the parameters `from_ms` and `to_ms`. */
export function within(column: string): string {
  return `${column} >= ${time('from_ms')} and ${column} < ${time('to_ms')}`;
}

/** The step of a time in the range. */
export function stepOf(column: string): string {
  return `toString(intDiv(toUnixTimestamp64Milli(${column}) - {from_ms:Int64}, {step_ms:Int64}))`;
}

/** What a project's events come to, as digits. */
export interface EventSums {
  deposits: string;
  withdrawals: string;
  active_players: string;
  events: string;
}

/** The sums of a range; players count once if they have one of the `activity` events. */
export async function sumEvents(
  clickhouse: ClickHouse,
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
  clickhouse: ClickHouse,
  project: ProjectRef,
  steps: Steps,
  event: string,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select ${stepOf('occurred_at')} as step, toString(sum(toInt128(ifNull(base_amount, 0)))) as value
    from events final where ${SCOPE} and event = {event:String} and ${within('occurred_at')}
    group by step ${LIMITS}`,
    { ...project, ...steps, event },
  );
}

/** Events per step: those of one name, or all. */
export async function eventsByStep(
  clickhouse: ClickHouse,
  project: ProjectRef,
  steps: Steps,
  event: string | undefined,
): Promise<StepRow[]> {
  const of_name = event === undefined ? '' : 'and event = {event:String}';
  return clickhouse.query<StepRow>(
    `select ${stepOf('occurred_at')} as step, toString(count()) as value
    from events final where ${SCOPE} ${of_name} and ${within('occurred_at')}
    group by step ${LIMITS}`,
    { ...project, ...steps, event },
  );
}

/** Players with one of the events per step, each once in a step. */
export async function playersByStep(
  clickhouse: ClickHouse,
  project: ProjectRef,
  steps: Steps,
  events: readonly string[],
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select step, toString(uniqExact(owner)) as value
    from (select ${stepOf('occurred_at')} as step, ${OWNER} from events
      where ${SCOPE} and event in ({events:Array(String)}) and ${within('occurred_at')})
    group by step ${LIMITS}`,
    { ...project, ...steps, events },
  );
}

const DEPOSITS = `${SCOPE} and event = 'deposit_confirmed'`;

/**
 * Players whose first confirmed deposit is in a step. Only those who have deposited in the range are looked at: all who
 * ever have would take ten times as long.
 */
export async function firstDepositsByStep(
  clickhouse: ClickHouse,
  project: ProjectRef,
  steps: Steps,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select ${stepOf('first_at')} as step, toString(count()) as value
    from (select min(occurred_at) as first_at, ${OWNER} from events
      where ${DEPOSITS} and owner in (select ${OWNER} from events where ${DEPOSITS} and ${within('occurred_at')})
      group by owner)
    where ${within('first_at')}
    group by step ${LIMITS}`,
    { ...project, ...steps },
  );
}

/** Players that were first known in a step. */
export async function newPlayersByStep(
  clickhouse: ClickHouse,
  project: ProjectRef,
  steps: Steps,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select ${stepOf('created_at')} as step, toString(count()) as value
    from players final where ${SCOPE} and ${within('created_at')}
    group by step ${LIMITS}`,
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
/** At equal times a void takes precedence over a cash-out, and a cash-out over a settlement, as in the totals of players. */
const ORDER = `(occurred_at, multiIf(event = 'sport_bet_voided', 2, event = 'sport_cashout', 1, 0))`;

/**
 * Stakes by the time of the bet, payouts by the time of the outcome, each bet once: the rules are those of `betEffect` in
 * src/ledger/money, within the range and a day before it. A voided bet counts nothing. Steps without bets are absent.
 */
export async function betsByStep(
  clickhouse: ClickHouse,
  project: ProjectRef,
  steps: Steps,
): Promise<BetSums[]> {
  return clickhouse.query<BetSums>(
    `select ${stepOf('flow.1')} as step, toString(sum(flow.2)) as wagered, toString(sum(flow.3)) as won
    from (
      select arrayJoin([
        (if(is_placed, placed_at, settled_at), toInt128(ifNull(if(is_placed, placed, settled), 0)), toInt128(0)),
        (if(is_sport, sport_at, casino_at), toInt128(0), toInt128(ifNull(if(is_sport, sport_payout.1, casino_payout), 0)))
      ]) as flow
      from (
        select startsWith(event, 'sport_') as is_sport, sipHash128(JSONExtractString(properties, 'bet_id')) as bet,
          countIf(${PLACED}) > 0 as is_placed, anyIf(base_amount, ${PLACED}) as placed,
          minIf(occurred_at, ${PLACED}) as placed_at,
          argMaxIf(base_amount, occurred_at, ${SETTLED}) as settled, maxIf(occurred_at, ${SETTLED}) as settled_at,
          maxIf(base_payout, ${CASINO_OUTCOME}) as casino_payout, minIf(occurred_at, ${CASINO_OUTCOME}) as casino_at,
          argMaxIf(tuple(base_payout), ${ORDER}, ${SPORT_OUTCOME}) as sport_payout,
          maxIf(occurred_at, ${SPORT_OUTCOME}) as sport_at,
          argMaxIf(event, ${ORDER}, ${SPORT_OUTCOME}) as sport_outcome
        from events final
        where ${SCOPE} and (${PLACED} or ${CASINO_OUTCOME} or ${SPORT_OUTCOME})
          and occurred_at >= ${time('known_from_ms')} and occurred_at < ${time('to_ms')}
        group by is_sport, bet
        having sport_outcome <> 'sport_bet_voided'
      )
    )
    where ${within('flow.1')}
    group by step ${LIMITS}`,
    { ...project, ...steps, known_from_ms: steps.from_ms - LOOK_BACK_MS },
  );
}
