import { EVENTS, isActivity } from '../../../ingest/events/catalogue.ts';
import { eventsOfKind, type BetKind } from '../../../ledger/money/ledger.ts';
import { basisSum, named, REVENUE_SUMS, type SumSql } from '../../../ledger/money/ngr-sql.ts';
import { IS_LEFT, OWNER, SCOPE } from '../../../segments/sql/owner-sql.ts';
import type { Deduction } from '../../../tenants/config/read.ts';

const time = (name: string) => `fromUnixTimestamp64Milli({${name}:Int64}, 'UTC')`;

/** The condition that a time is in the range of the parameters `from_ms` and `to_ms`, whose names may have a prefix. */
export function within(column: string, prefix = ''): string {
  return `${column} >= ${time(`${prefix}from_ms`)} and ${column} < ${time(`${prefix}to_ms`)}`;
}

/**
 * The beginning of the step of a time in the range: a number to group by, which takes a third of the time of grouping by its
 * digits. The steps come from the service, whose rules of time zones are newer than those of the engine.
 */
export function stepOf(column: string, prefix = ''): string {
  return `roundDown(toUnixTimestamp64Milli(${column}), {${prefix}starts_ms:Array(Int64)})`;
}

/** The names of events that are a player's own activity. */
export const ACTIVITY: readonly string[] = Object.keys(EVENTS).filter(isActivity);

/** From which rows a measure is computed. */
export type Source = 'events' | 'players' | 'first_deposits';

/** How a measure is computed over the rows of its source. */
export interface MeasureSql {
  source: Source;
  /** Of the source `events`: their names; undefined: all. */
  events?: readonly string[];
  /** What a row adds, an integer of up to 128 bits; undefined: players are counted, each once. */
  adds?: string;
}

const sum = (events: readonly string[], adds: string): MeasureSql => ({ source: 'events', events, adds });
const count = (...events: string[]): MeasureSql => ({ source: 'events', events, adds: '1' });
const players = (events: readonly string[]): MeasureSql => ({ source: 'events', events });
const ofEvents = (one: SumSql): MeasureSql => ({ source: 'events', ...one });

const allOf = <Name extends string>(measures: Readonly<Record<Name, MeasureSql>>) => measures;

/**
 * Every measure. What an event counts is what the totals of its player count of it (docs/feeds.md, What counts how): the fold decides
 * that, and each row has it at its own time. So the days of a range add up to the totals. Deposits and withdrawals are gross:
 * what was taken back later is a measure of its own, on the day on which that happened.
 */
export const MEASURE_SQL = allOf({
  deposits: ofEvents(REVENUE_SUMS.deposits),
  withdrawals: sum(['withdrawal_confirmed'], 'ifNull(base_amount, 0)'),
  deposits_reversed: sum(['deposit_reversed'], 'stake_counted'),
  withdrawals_reversed: sum(['withdrawal_reversed'], 'stake_counted'),
  wagered: ofEvents(REVENUE_SUMS.wagered),
  won: ofEvents(REVENUE_SUMS.won),
  bonus_wagered: ofEvents(REVENUE_SUMS.bonus_wagered),
  bonus_won: ofEvents(REVENUE_SUMS.bonus_won),
  credited: ofEvents(REVENUE_SUMS.credited),
  debited: ofEvents(REVENUE_SUMS.debited),
  deposit_count: count('deposit_confirmed'),
  deposits_failed: count('deposit_failed'),
  signups: count('signup'),
  events: { source: 'events', adds: '1' },
  active_players: players(ACTIVITY),
  depositors: players(['deposit_confirmed']),
  bettors: players(['bet_placed', 'bet_settled', 'sport_bet_placed', 'sport_bet_settled']),
  new_players: { source: 'players', adds: '1' },
  first_deposits: { source: 'first_deposits', adds: '1' },
  bonuses_granted: count('bonus_claimed'),
  bonus_granted: sum(['bonus_claimed'], 'ifNull(base_amount, 0)'),
  bonuses_completed: count('bonus_completed'),
  bonus_released: ofEvents(REVENUE_SUMS.bonus_released),
  bonuses_ended: count(
    'bonus_expired',
    'custom_bonus_forfeited',
    'custom_bonus_lost',
    'custom_bonus_cancelled',
  ),
  bonus_players: players(['bonus_claimed']),
});
/** What rows of ClickHouse are added up to. Money is in the smallest unit of the base currency. */
export type Measure = keyof typeof MEASURE_SQL;

/** What a deduction is a share of. */
export function basisSql(deduction: Deduction): MeasureSql {
  return ofEvents(basisSum(deduction));
}

/** Which product an event belongs to; an empty text: none. */
export const PRODUCT = `multiIf(${(['casino', 'sport'] satisfies BetKind[])
  .map((kind) => `${named(eventsOfKind(kind))}, '${kind}'`)
  .join(', ')}, '')`;

const DEPOSITS = `${SCOPE} and event = 'deposit_confirmed'`;

/**
 * When those players first deposited who have deposited in a range: rows of `owner` and `first_at`. All who ever have would
 * take ten times as long. Deleted players are not among them. `in_range` is a condition of `occurred_at`.
 */
const firstByEvents = (in_range: string) => `
  select min(occurred_at) as first_at, ${OWNER} from events
  where ${DEPOSITS} and owner in (select ${OWNER} from events where ${DEPOSITS} and (${in_range}))
  group by owner having ${IS_LEFT}`;

/**
 * When players first deposited: rows of `owner` and `first_at`, of all who first deposited in a range and maybe of others, none of
 * them deleted. `in_range` makes the condition of a column. `are_known`: `players` has it of everybody
 * (`readFirstDepositsKnown`), which takes a twentieth of the time; otherwise it follows from the events, with the same rows.
 */
export function firstDepositsSql(in_range: (column: string) => string, are_known: boolean): string {
  if (!are_known) return firstByEvents(in_range('occurred_at'));
  return `select assumeNotNull(first_deposit_at) as first_at, player_id as owner from players final
    where ${SCOPE} and first_deposit_at is not null and ${in_range('first_deposit_at')} and deleted_at is null`;
}
