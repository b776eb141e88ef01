import type { PendingQuery } from 'postgres';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { SCOPE } from '../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Statement } from './kind.ts';
import { BACKGROUND_LIMIT_S, MAX_ROWS_READ, STATEMENT_LIMIT_BYTES, STATEMENT_LIMIT_S } from './limits.ts';
import { within } from './metrics/measure-queries.ts';

/** Limits of each statement. They are part of its text: otherwise the embedded engine would keep them for the session. */
const settingsOf = (limit_s: number, more = '') =>
  `settings ${more}max_execution_time = ${limit_s}, max_memory_usage = ${STATEMENT_LIMIT_BYTES}, ` +
  `max_rows_to_read = ${MAX_ROWS_READ}, readonly = 1`;
const SETTINGS = settingsOf(STATEMENT_LIMIT_S);
/** Limits of a statement that no caller waits for; `more`: settings before them, each followed by a comma. */
export const backgroundSettings = (more = '') => settingsOf(BACKGROUND_LIMIT_S, more);

/** The project and the moment that a statement is about. */
export interface Question extends ProjectRef {
  now_ms: number;
}

/** The rows of a statement within the limits of insights. */
export async function askInsight(
  clickhouse: ClickHouseQueries,
  question: Question,
  { sql, params }: Statement,
): Promise<Record<string, unknown>[]> {
  return clickhouse.query(`${sql}\n${SETTINGS}`, { ...params, ...question });
}

/**
 * What changes when an event of a range arrives, is written anew, or gets another player: of all events, or of those of some
 * names. When ClickHouse drops a row of an earlier revision it changes, too, which costs a computation.
 */
export function daysStamp(
  range: { from_ms: number; to_ms: number },
  events: readonly string[] | undefined,
): Statement {
  const of_names = events === undefined ? '' : 'and event in {events:Array(String)}';
  const sql = `select toString(count()) as rows, toString(sum(revision)) as revisions,
      toString(max(received_at)) as newest,
      (select concat(toString(count()), ' ', toString(max(revision))) from player_aliases where ${SCOPE}) as aliases
    from events where ${SCOPE} and ${within('occurred_at')} ${of_names}`;
  return { sql, params: { ...range, ...(events === undefined ? {} : { events }) } };
}

/** A player of a figure; `value` as digits. */
export interface FigurePlayer {
  id: string;
  external_id: string | null;
  value: string;
}

/** Values are compared as decimals with so many places, so that every number of a figure is exact. */
const VALUE = 'toDecimal256(value, 10)';

/** The players of a figure from the largest value on: at most `limit` after the position of the page before. */
export function playersPage(
  { sql, params }: Statement,
  after: readonly [value: string, id: string] | undefined,
  limit: number,
): Statement {
  const [after_value = '0', after_id = ''] = after ?? [];
  const beyond =
    after === undefined
      ? ''
      : `where ${VALUE} < toDecimal256({after_value:String}, 10)
          or (${VALUE} = toDecimal256({after_value:String}, 10) and player_id > toUUID({after_id:String}))`;
  return {
    sql: `select toString(f.player_id) as id, p.external_id as external_id, toString(f.value) as value
      from (select player_id, value from (${sql}) ${beyond} order by value desc, player_id limit {page:UInt32}) as f
      any left join (
        select player_id, external_id from players final
        where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) as p on p.player_id = f.player_id
      order by f.value desc, f.player_id`,
    params: { ...params, page: limit, ...(after === undefined ? {} : { after_value, after_id }) },
  };
}

/** How many players a statement gives, as `players`, and up to `count` random ones of them, as `ids`. */
export function samplePlayers({ sql, params }: Statement, count: number): Statement {
  return {
    sql: `select toString(count()) as players, groupArraySample(${count})(toString(player_id)) as ids from (${sql})`,
    params,
  };
}

/** How many rows ClickHouse expects to read for a statement: it reads the indexes only. */
export async function estimateRows(
  clickhouse: ClickHouseQueries,
  question: Question,
  { sql, params }: Statement,
): Promise<number> {
  const parts = await clickhouse.query<{ rows: string }>(`explain estimate ${sql}\n${SETTINGS}`, {
    ...params,
    ...question,
  });
  return parts.reduce((sum, { rows }) => sum + Number(rows), 0);
}

/** Corrections of a project that are looked at for their days. */
const MAX_LOOKED_AT = 5_000;

/** What of a range is being restated. */
export interface Restating {
  /** The quarters of an hour with events that a correction waits to write anew: their beginnings, in milliseconds. */
  quarters_ms: string[];
  /** Whether there are more corrections than were looked at, or the whole history is counted anew. */
  is_everything: boolean;
}

/** The quarters of an hour of a range, in which the days of every zone begin, with events that wait to be written anew to ClickHouse. */
export function selectRestating(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { from_ms, to_ms }: { from_ms: number; to_ms: number },
): PendingQuery<Restating[]> {
  const [from, to] = [new Date(from_ms), new Date(to_ms)];
  return tx<Restating[]>`
    with pending as materialized (
      select reference, ordinal from event_corrections
      where tenant_id = ${tenant_id} and project_id = ${project_id}
      order by correction_id limit ${MAX_LOOKED_AT}
    )
    select
      array(
        select distinct (extract(epoch from date_bin('15 minutes', l.occurred_at, 'epoch')) * 1000)::bigint::text
        from pending c
        join projects p on p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
        cross join lateral (
          select l.occurred_at from ledger l
          where l.project_no = p.project_no and l.reference = c.reference and l.ordinal = c.ordinal offset 0) l
        where l.occurred_at >= ${from} and l.occurred_at < ${to}) as quarters_ms,
      (select count(*) from pending) = ${MAX_LOOKED_AT}
        or exists (select from recounts where tenant_id = ${tenant_id} and project_id = ${project_id})
        as is_everything`;
}
