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

/** How long before a range all events of bets are read: most bets are over sooner. */
const LOOK_BACK_MS = 86_400_000;

const PLACED = `event in ('bet_placed', 'sport_bet_placed')`;
/** The settlement of a casino bet counts before a win, and a win before a loss. */
const CASINO_OUTCOMES = ['bet_settled', 'bet_won', 'bet_lost'];
const SPORT_OUTCOMES = ['sport_bet_settled', 'sport_cashout', 'sport_bet_voided'];
const named = (events: readonly string[]) => `event in ('${events.join("', '")}')`;
const BETS = `(${PLACED} or ${named([...CASINO_OUTCOMES, ...SPORT_OUTCOMES])})`;
/** A settlement that names a stake; that may have no rate yet. */
const SETTLED = `event in ('bet_settled', 'sport_bet_settled') and (base_amount is not null or JSONHas(properties, 'amount'))`;
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
const BET = `sipHash128(startsWith(event, 'sport_'), ${BET_ID})`;

const inRange = (at_ms: string) => `(${at_ms} >= {from_ms:Int64} and ${at_ms} < {to_ms:Int64})`;

/**
 * What may have happened to bets of the range long before it, by the events that would show it: their number stands under
 * a step below 0. A settlement may be of a bet that was placed then, an open bet may have been voided then, and a bet that
 * was won may have been settled then.
 */
const OPEN_QUESTIONS = [
  {
    events: ['bet_placed'],
    of: `not is_sport and not is_placed and is_settled and ${inRange('settled_at')}`,
  },
  {
    events: ['sport_bet_placed'],
    of: `is_sport and not is_placed and is_settled and ${inRange('settled_at')}`,
  },
  { events: SPORT_OUTCOMES, of: `is_sport and is_placed and not has_outcome and ${inRange('placed_at')}` },
  { events: ['bet_settled'], of: `not is_sport and has_outcome and not is_best and ${inRange('paid_at')}` },
];

/**
 * The stake of a bet by the time of the stake, its payout by the time of the outcome that holds, each once: the rules are
 * those of `betEffect` in src/ledger/money. A voided bet counts nothing. Steps without bets are absent.
 *
 * What a bet counts depends on all of its events, wherever they are: otherwise the parts of a range would not add up to the
 * whole. So events outside the range are read, too, of its bets alone. Those of the day before and those behind the range are
 * read at once; of earlier ones only those names that the bets leave a question about, usually none.
 */
export async function betsByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
): Promise<BetSums[]> {
  const found = await askBets(clickhouse, project, steps, []);
  const earlier = OPEN_QUESTIONS.flatMap(({ events }, place) =>
    found.some(({ step }) => step === String(-place - 1)) ? events : [],
  );
  const rows = earlier.length === 0 ? found : await askBets(clickhouse, project, steps, earlier);
  return rows.filter(({ step }) => !step.startsWith('-'));
}

/** `earlier`: the names of events that are read from the beginning on. Steps below 0 count open questions. */
async function askBets(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  earlier: readonly string[],
): Promise<BetSums[]> {
  const columns = 'occurred_at, event, base_amount, base_payout, properties';
  const open = OPEN_QUESTIONS.map(({ of }, place) => `(toInt64(${-place - 1}), toInt64(${of}), toInt64(0))`);
  // The bets' own rows are FINAL. Other rows are read for their times and names only, which no revision changes. FINAL
  // over a whole history takes four times as long.
  return clickhouse.query<BetSums>(
    `select toString(flow.1) as step, toString(sum(toInt128(flow.2))) as wagered, toString(sum(toInt128(flow.3))) as won
    from (
      select arrayJoin(arrayFilter(flow -> flow.1 >= 0 or flow.2 > 0, [
        (if(${inRange('staked_at')}, ${stepOfMs('staked_at')}, toInt64(-1)), if(${inRange('staked_at')}, stake, 0), toInt64(0)),
        (if(${inRange('paid_at')}, ${stepOfMs('paid_at')}, toInt64(-1)), toInt64(0), payout),
        ${open.join(', ')}
      ])) as flow
      from (
        select ${BET} as bet, any(is_sport_event) as is_sport,
          countIf(is_placing) > 0 as is_placed, minIf(at_ms, is_placing) as placed_at, anyIf(amount, is_placing) as placed,
          countIf(is_settling) > 0 as is_settled, maxIf(at_ms, is_settling) as settled_at,
          argMaxIf(amount, at_ms, is_settling) as settled,
          countIf(is_outcome) > 0 as has_outcome, countIf(is_outcome and (casino_rank = 2 or paid = 0)) > 0 as is_best,
          maxIf(sport_rank, is_outcome) as sport, positiveModulo(sport, 4) as last_rank,
          if(is_sport, intDiv(sport - last_rank, 4), argMaxIf(at_ms, casino_rank, is_outcome)) as paid_at,
          if(is_sport, argMaxIf(paid, sport_rank, is_outcome), argMaxIf(paid, casino_rank, is_outcome)) as payout,
          if(is_placed, placed_at, settled_at) as staked_at, if(is_placed, placed, settled) as stake
        from (
          select toUnixTimestamp64Milli(occurred_at) as at_ms, event, properties, ifNull(base_amount, 0) as amount,
            ifNull(base_payout, 0) as paid, startsWith(event, 'sport_') as is_sport_event,
            ${PLACED} as is_placing, ${SETTLED} as is_settling, not is_placing as is_outcome,
            multiIf(event = 'bet_settled', 2, event = 'bet_won', 1, 0) as casino_rank, ${RANKED} as sport_rank
          from (
            select ${columns} from events final
            where ${SCOPE} and ${BETS} and occurred_at >= ${time('known_from_ms')} and occurred_at < ${time('to_ms')}
            union all
            select ${columns} from events
            where ${SCOPE} and ${BETS}
              and (occurred_at >= ${time('to_ms')}
                or occurred_at < ${time('known_from_ms')} and event in ({earlier:Array(String)}))
              and ${BET} in (select ${BET} from events where ${SCOPE} and ${BETS} and ${within('occurred_at')})
          )
        )
        group by bet
        having not is_sport or not has_outcome or last_rank <> 2
      )
    )
    group by flow.1 ${LIMITS}`,
    { ...project, ...steps, known_from_ms: steps.from_ms - LOOK_BACK_MS, earlier },
  );
}
