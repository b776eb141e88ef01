import type { ClickHouseQueries } from '../../../platform/clickhouse/port.ts';
import { TimeZone, UTC_ZONE } from '../../../platform/time-zone.ts';
import { OVER_ALL } from '../../../segments/evaluation-queries.ts';
import { OWNER, SCOPE } from '../../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { Share } from '../nightly/deposit-queries.ts';
import { HELD_OUT_DAYS, SESSION_DAYS, type SessionHours } from './fit.ts';
import { MIN_SESSIONS } from './hours.ts';

const DAY_S = 86_400;
/** Sessions of a player and a period that are read, at most. */
const MAX_SESSIONS = 500;
/** Time zones of the players of a project: there are no more names. */
const MAX_ZONES = 2_000;

/** Whose sessions are read, until when, and by which clocks. */
export interface SessionQuestion extends ProjectRef {
  until_ms: number;
  clocks: Clocks;
}

/**
 * The clocks of the players of a project. The rules of ClickHouse are as old as its build, so it gets those that hold: of the
 * time zone `zones[i]` the moments `changes[i]` (s) at which the clocks are set anew, and the seconds `offsets[i]` by which they are
 * ahead of UTC, first before all of these moments, then after each. The last entry is for players without a zone.
 */
interface Clocks {
  zones: string[];
  changes: number[][];
  offsets: number[][];
}

/** The clocks in the days before `until_ms` whose sessions may be read; `zone`: of players without one. */
export async function readClocks(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  zone: TimeZone,
  until_ms: number,
): Promise<Clocks> {
  const rows = await clickhouse.query<{ zone: string }>(
    `select distinct assumeNotNull(timezone) as zone from players final
    where ${SCOPE} and timezone is not null and deleted_at is null limit ${MAX_ZONES} ${OVER_ALL}`,
    { ...project },
  );
  const zones = rows.map((row) => row.zone);
  const clocks = [...zones.map((name) => TimeZone.named(name) ?? UTC_ZONE), zone].map((one) =>
    clockOf(one, until_ms - 2 * SESSION_DAYS * DAY_S * 1_000, until_ms),
  );
  return {
    // The text of the last entry is not compared.
    zones: [...zones, ''],
    changes: clocks.map(({ changes }) => changes),
    offsets: clocks.map(({ offsets }) => offsets),
  };
}

function clockOf(zone: TimeZone, from_ms: number, until_ms: number) {
  const changes: number[] = [];
  for (let at = zone.changeBetween(from_ms, until_ms); at !== undefined;) {
    changes.push(at);
    at = zone.changeBetween(at, until_ms);
  }
  return {
    changes: changes.map((at_ms) => Math.floor(at_ms / 1_000)),
    offsets: [from_ms, ...changes].map((at_ms) => zone.offset(at_ms) * 60),
  };
}

/** The sessions of players who are not deleted: whose, when (s), and in which hour of the week on the player's clock. */
const SESSIONS = `select owner, at, toUInt8(modulo(intDiv(at
      + {offsets:Array(Array(Int32))}[clock][1 + arrayCount(change -> change <= at, {changes:Array(Array(Int64))}[clock])],
      3600) + 72, 168)) as hour
  from (
    select ${OWNER}, toInt64(toUnixTimestamp(occurred_at)) as at from events final
    where ${SCOPE} and event = 'session_start' and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      and occurred_at < fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')) as sessions
  inner join (
    select player_id, transform(ifNull(toString(timezone), ''), {zones:Array(String)}, range(1, length({zones:Array(String)}) + 1),
      length({zones:Array(String)})) as clock
    from players final where ${SCOPE} and deleted_at is null) as known on known.player_id = sessions.owner`;

const IN_SHARE = 'cityHash64(owner) % {shares:UInt32} = {share:UInt32}';

function paramsOf({ clocks, until_ms, ...project }: SessionQuestion, days: number) {
  return { ...project, ...clocks, until_ms, from_ms: until_ms - days * DAY_S * 1_000 };
}

/** How many sessions there were, and whose. */
export interface SessionTotals {
  /** Players with a session in the last 90 days; `timed`: with five. */
  players: number;
  timed: number;
  /** Sessions of the last 90 days. */
  sessions: number;
  /** Players with a session in the last 180 days: at least as many as {@link readPlayerHours} finds. */
  known: number;
}

/** How many sessions there were, and whose. */
export async function countSessions(
  clickhouse: ClickHouseQueries,
  question: SessionQuestion,
): Promise<SessionTotals> {
  const [row] = await clickhouse.query<Record<keyof SessionTotals, string>>(
    `select toString(countIf(n > 0)) as players, toString(countIf(n >= ${MIN_SESSIONS})) as timed,
      toString(sum(n)) as sessions, toString(count()) as known
    from (select owner, countIf(at >= {since_s:Int64}) as n from (${SESSIONS}) group by owner) ${OVER_ALL}`,
    { ...paramsOf(question, 2 * SESSION_DAYS), since_s: sinceOf(question) },
  );
  return {
    players: Number(row?.players ?? 0),
    timed: Number(row?.timed ?? 0),
    sessions: Number(row?.sessions ?? 0),
    known: Number(row?.known ?? 0),
  };
}

/** When the last 90 days begin, in seconds. */
const sinceOf = ({ until_ms }: SessionQuestion) => until_ms / 1_000 - SESSION_DAYS * DAY_S;

/** The hours of the sessions of the last 90 days of the players of a share, by the periods of the fit. */
export async function readSessionHours(
  clickhouse: ClickHouseQueries,
  question: SessionQuestion & Share,
): Promise<SessionHours[]> {
  const { share, shares, ...asked } = question;
  const until_s = question.until_ms / 1_000;
  const rows = await clickhouse.query<Record<'first' | 'next' | 'last', number[]>>(
    `select arraySort(groupArrayIf(${MAX_SESSIONS})(hour, at < {next_s:Int64})) as first,
      arraySort(groupArrayIf(${MAX_SESSIONS})(hour, at >= {next_s:Int64} and at < {last_s:Int64})) as next,
      arraySort(groupArrayIf(${MAX_SESSIONS})(hour, at >= {last_s:Int64})) as last
    from (${SESSIONS}) where ${IN_SHARE} group by owner order by owner ${OVER_ALL}`,
    {
      ...paramsOf(asked, SESSION_DAYS),
      share,
      shares,
      next_s: until_s - 2 * HELD_OUT_DAYS * DAY_S,
      last_s: until_s - HELD_OUT_DAYS * DAY_S,
    },
  );
  return rows.map(({ first, next, last }) => [first, next, last]);
}

/** A player with the hours of its sessions of the last 90 days, each with how many began in it. */
export interface PlayerHours {
  player_id: string;
  hours: [hour: number, sessions: number][];
}

/**
 * The players of a share with five sessions in the last 180 days, in the order of their ids: all who have five in the last 90, and
 * who had them lately.
 */
export async function readPlayerHours(
  clickhouse: ClickHouseQueries,
  question: SessionQuestion & Share,
): Promise<PlayerHours[]> {
  const { share, shares, ...asked } = question;
  const rows = await clickhouse.query<{ owner: string; hours: [number, number | string][] }>(
    `select owner, arraySort(groupArrayIf((hour, toUInt32(n)), n > 0)) as hours
    from (
      select owner, hour, countIf(at >= {since_s:Int64}) as n, count() as all
      from (${SESSIONS}) where ${IN_SHARE} group by owner, hour)
    group by owner having sum(all) >= ${MIN_SESSIONS} order by owner ${OVER_ALL}`,
    {
      ...paramsOf(asked, 2 * SESSION_DAYS),
      share,
      shares,
      since_s: sinceOf(question),
    },
  );
  return rows.map(({ owner, hours }) => ({
    player_id: owner,
    hours: hours.map(([hour, n]) => [hour, Number(n)]),
  }));
}
