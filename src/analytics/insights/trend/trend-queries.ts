import { OWNER, SCOPE } from '../../../segments/sql/owner-sql.ts';
import type { InsightScope, Statement, Steps } from '../kind.ts';
import { named } from '../../../ledger/money/ngr-sql.ts';
import { firstDepositsSql, stepOf, within, type Source } from '../metrics/measure-queries.ts';
import type { GroupSql } from '../sql/groups.ts';
import type { Part } from './parts.ts';

/** A group of a breakdown, and which of them have rows of their own. */
export interface Grouping {
  sql: GroupSql;
  /** The column of players that it reads; undefined: none. */
  player_column: string | undefined;
  top: number;
  /** By what groups are ranked: parts of the statement, so many times each. */
  rank: readonly (readonly [Part, bigint])[];
}

/** What is selected of rows of events. The engine reads only the columns that the statement uses. */
const EVENT_COLUMNS = [
  'event',
  'occurred_at',
  'properties',
  'base_amount',
  'base_payout',
  'base_bonus_stake',
  'base_bonus_payout',
  'stake_counted',
  'payout_counted',
  'bonus_stake_counted',
  'bonus_payout_counted',
  'item',
  'item_group',
  'payment_method',
].join(', ');

/** In place of a step: all intervals that are over. No interval begins a millisecond before 1970. */
export const OVER = '-1';

/**
 * A row of a trend's statement: `side` (1: of the range that is compared with), `step` (the beginning of the interval in
 * milliseconds; null: the whole range; {@link OVER}: its intervals that are over), `place` and `g` of the group (0: what the groups with rows of their own leave;
 * null: all groups), and each part by its alias, as text.
 */
export interface TrendRow {
  side: number;
  step: string | null;
  /** Digits. */
  place: string | null;
  g: string;
  [part: string]: string | number | null;
}

/** The rows of a source in a range, as a subquery with `occurred_at`, `owner` and what parts read. */
function rowsSql(
  source: Source,
  { filter, are_first_deposits_known }: Pick<InsightScope, 'filter' | 'are_first_deposits_known'>,
  parts: readonly Part[],
  in_range: (column: string) => string,
): string {
  const owned = filter.owners === '' ? '' : ` and ${filter.owners}`;
  switch (source) {
    case 'events': {
      const names = namesOf(parts);
      const of_names = names === undefined ? '' : ` and ${named(names)}`;
      const events = filter.events === '' ? '' : ` and (${filter.events})`;
      return `select ${EVENT_COLUMNS}, ${OWNER} from events final
        where ${SCOPE} and ${in_range('occurred_at')}${of_names}${events}${owned}`;
    }
    case 'players':
      return `select created_at as occurred_at, player_id as owner from players final
        where ${SCOPE} and ${in_range('created_at')} and deleted_at is null${owned}`;
    case 'first_deposits':
      return `select first_at as occurred_at, owner from (${firstDepositsSql(in_range, are_first_deposits_known)})
        where ${in_range('first_at')}${owned}`;
  }
}

/** The names of the events that parts read; undefined: one of them reads all. */
export function namesOf(parts: readonly Part[]): readonly string[] | undefined {
  if (parts.some(({ events }) => events === undefined)) return undefined;
  return [...new Set(parts.flatMap(({ events = [] }) => events))];
}

/** Joins the players of rows, for what a breakdown reads of them. */
function joinPlayers(column: string | undefined): string {
  return column === undefined
    ? ''
    : ` any left join (select player_id, ${column} from players final where ${SCOPE}) as p on p.player_id = owner`;
}

function groupText(grouping: Pick<Grouping, 'sql'> | undefined): string {
  if (grouping === undefined) return "''";
  return 'of_event' in grouping.sql ? grouping.sql.of_event : grouping.sql.of_player;
}

/**
 * The parts of one source by interval and group, and over the whole range; see {@link TrendRow}. Each row of the source is read once.
 * `open_ms`: when the first interval begins that is not over; then the rows have {@link OVER}, too. Undefined: they do not.
 */
export function trendStatement(
  source: Source,
  parts: readonly Part[],
  scope: Pick<InsightScope, 'filter' | 'steps' | 'compared' | 'are_first_deposits_known'>,
  grouping: Grouping | undefined,
  params: Readonly<Record<string, unknown>>,
  open_ms?: number,
): Statement {
  const { filter, steps, compared } = scope;
  const side = (number: 0 | 1, prefix: string) => `
      select toUInt8(${number}) as side, ${stepOf('occurred_at', prefix)} as n, ${groupText(grouping)} as g,
        ${parts.map(({ alias, inner }) => `${inner} as ${alias}`).join(', ')}
      from (${rowsSql(source, scope, parts, (column) => within(column, prefix))}) as e${joinPlayers(grouping?.player_column)}
      group by n, g`;
  const sides = compared === undefined ? side(0, '') : `${side(0, '')}\n    union all${side(1, 'before_')}`;
  const columns = parts.map(({ alias, outer }) => `toString(${outer(`u.${alias}`)}) as ${alias}`).join(', ');
  const steps_of_row =
    open_ms === undefined
      ? '[toNullable(n), null]'
      : `if(n < {open_ms:Int64}, [toNullable(n), null, ${OVER}], [toNullable(n), null])`;
  const of_step = `arrayJoin(${steps_of_row}) as step`;
  const sql =
    grouping === undefined
      ? `select side, step, null as place, '' as g, ${columns}
    from (select *, ${of_step} from (${sides})) as u group by side, step`
      : `select side, step, shown.1 as place, any(shown.2) as g, ${columns}
    from (
      select *, ${of_step}, arrayJoin([(toNullable(toUInt64(if(place > ${grouping.top}, 0, place))), if(place > ${grouping.top}, '', g)), (null, '')]) as shown
      from (
        select *, dense_rank() over (order by rank desc, g) as place
        from (
          select *, ${rankSql(grouping)} as rank
          from (select * replace (${grouping.sql.shownOf('g')} as g) from (${sides})) as u))) as u
    group by side, step, place`;
  return {
    sql,
    params: {
      ...params,
      ...filter.params,
      ...paramsOf(steps, ''),
      ...paramsOf(compared, 'before_'),
      ...(open_ms === undefined ? {} : { open_ms }),
    },
  };
}

/** What a group comes to in the range itself. */
function rankSql({ rank }: Grouping): string {
  return rank
    .map(
      ([{ alias, outer }, times]) =>
        `${times} * toInt128(${outer(`u.${alias}`, 'side = 0')} over (partition by g))`,
    )
    .join(' + ');
}

function paramsOf(steps: Steps | undefined, prefix: string): Record<string, unknown> {
  if (steps === undefined) return {};
  const { from_ms, to_ms, starts_ms } = steps;
  return { [`${prefix}from_ms`]: from_ms, [`${prefix}to_ms`]: to_ms, [`${prefix}starts_ms`]: starts_ms };
}

/** Which part of a group the players are asked of. */
export interface GroupCell {
  grouping: Pick<Grouping, 'sql' | 'player_column'> | undefined;
  /** A condition of `g`; an empty text: none. */
  condition: string;
}

/** Each player of the rows of a source in a range with a value that is not 0, as `player_id` and `value`. */
export function trendPlayersStatement(
  source: Source,
  parts: readonly Part[],
  scope: Pick<InsightScope, 'filter' | 'are_first_deposits_known'>,
  range: Steps,
  cell: GroupCell,
  value: string,
  params: Readonly<Record<string, unknown>>,
): Statement {
  const g = cell.grouping === undefined ? "''" : cell.grouping.sql.shownOf(groupText(cell.grouping));
  const sql = `select owner as player_id, ${value} as value
    from (${rowsSql(source, scope, parts, (column) => within(column))}) as e${joinPlayers(cell.grouping?.player_column)}
    ${cell.condition === '' ? '' : `where ${g} ${cell.condition}`}
    group by owner having value != 0`;
  return { sql, params: { ...params, ...scope.filter.params, ...paramsOf(range, '') } };
}
