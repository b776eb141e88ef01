import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { MONEY_PROPERTIES } from '../../ingest/events/money-only.ts';
import type { ErasedPerson } from '../dependents.ts';
import { playerOf, reduceLine } from '../../ingest/events/envelope.ts';
import { isUuid } from '../../platform/ids.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/** The properties of a row of `events` as `moneyOnly` leaves them. */
const MONEY_ONLY = `concat('{', arrayStringConcat(arrayFilter(one -> one != '', [${MONEY_PROPERTIES.map(
  ({ name, text, events }) => {
    const raw = `JSONExtractRaw(properties, '${name}')`;
    const of_type =
      text === undefined
        ? `JSONType(properties, '${name}') = 'String'`
        : `match(trim(both '"' from ${raw}), '${text.source}')`;
    const names = events.map((event) => `'${event}'`).join(', ');
    return `if(event in (${names}) and ${of_type}, concat('"${name}":', ${raw}), '')`;
  },
).join(', ')}]), ','), '}')`;

const THEIRS =
  '(tenant_id, project_id, player_id) in (select arrayJoin(arrayZip({tenants:Array(UUID)}, {projects:Array(UUID)}, {players:Array(UUID)})))';

/** An update does not compute the columns that were made of the properties again. */
const OF_EVENTS = `properties = ${MONEY_ONLY}, item = '', item_group = '', payment_method = ''`;

const REWRITES: readonly { table: string; set: string }[] = [
  { table: 'events', set: OF_EVENTS },
  { table: 'events_by_player', set: OF_EVENTS },
  {
    table: 'players',
    set: "external_id = null, email = null, phone = null, telegram_id = null, timezone = null, custom_attributes = '{}'",
  },
];

/**
 * Reduces the events of these people to what is about money, and empties every version of their rows in `players`. Rewrites
 * parts of the tables, so people are taken together. Idempotent. Rejects with StillRunning while an earlier one runs, and as
 * `beforeWrite` does, which is called before each rewrite.
 */
export async function eraseEvents(
  clickhouse: ClickHouse,
  people: readonly ErasedPerson[],
  beforeWrite: () => Promise<void>,
): Promise<void> {
  const rows = people.flatMap(({ tenant_id, project_id, player_ids }) =>
    player_ids.map((player_id) => ({ tenant_id, project_id, player_id })),
  );
  const params = {
    tenants: rows.map(({ tenant_id }) => tenant_id),
    projects: rows.map(({ project_id }) => project_id),
    players: rows.map(({ player_id }) => player_id),
  };
  for (const { table, set } of REWRITES) {
    await beforeWrite();
    const sql = `alter table ${table} update ${set} where ${THEIRS} settings mutations_sync = 2`;
    await clickhouse.rewrite(`erase-${table}`, sql, params);
  }
}

/**
 * Lines of events as they may be written to ClickHouse: of erased players only with what is about money. The log has the
 * events from before an erasure as they were, and a rebuild must not bring them back.
 */
export async function withoutErased(sql: Tx, lines: readonly string[]): Promise<string[]> {
  const erased = await selectErased(sql, [...new Set(lines.map(playerOf))].filter(isUuid));
  if (erased.size === 0) return [...lines];
  return lines.map((line) => (erased.has(playerOf(line)) ? reduceLine(line) : line));
}

/** Those of these ids that are of players who were erased, or of players that were merged into one who was. */
export async function selectErased(sql: Tx, player_ids: readonly string[]): Promise<Set<string>> {
  if (player_ids.length === 0) return new Set();
  const ids = plainArray(player_ids);
  const rows = await sql<{ player_id: string }[]>`
    select player_id from players where erased_at is not null and player_id = any(${ids}::text::uuid[])
    union all
    select player_id from player_merges where is_erased and player_id = any(${ids}::text::uuid[])`;
  return new Set(rows.map(({ player_id }) => player_id));
}
