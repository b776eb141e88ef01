import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { MIRRORED, type ColumnKind } from '../../analytics/mirrored-columns.ts';
import type { Project } from './queries.ts';
import type { CheckedTable } from './schema.ts';

/** A row of a table in Postgres or of its copy in ClickHouse. */
export interface CopiedRow {
  /** The ids that identify the row in its project; keys sort as texts in both databases. */
  key: string;
  player_id: string;
  /** The values of {@link CopySource.columns} as text. */
  values: readonly (string | null)[];
  /** The row is not copied in this state: whatever ClickHouse has is right. */
  is_open?: boolean;
}

/** Rows with `after < key <= to`, null: no bound; or the rows with these keys. */
export type Part = { after: string | null; to: string | null } | { keys: readonly string[] };

export interface Column {
  name: string;
  kind: ColumnKind;
}

/** A table of ClickHouse whose rows are copies of rows in Postgres. */
export interface CopySource {
  table: CheckedTable;
  columns: readonly Column[];
  /** What a difference calls its field; `column` is absent when the whole row is missing or left over. */
  fieldOf(key: string, column?: string): string;
  /** The first `limit` rows of the part in Postgres by key. */
  readRows(sql: Tx, project: Project, part: Part, limit: number): Promise<CopiedRow[]>;
  /** The rows of the part in ClickHouse. */
  readCopies(clickhouse: ClickHouse, project: Project, part: Part): Promise<CopiedRow[]>;
}

const PLAYER_COLUMNS: readonly Column[] = MIRRORED.map(({ name, kind }) => ({ name, kind }));

const players: CopySource = {
  table: 'players',
  columns: PLAYER_COLUMNS,
  fieldOf: (_key, column = 'revision') => column,
  async readRows(sql, { tenant_id, project_id }, part, limit) {
    const columns = MIRRORED.map(({ source, kind }) => postgresText(source, kind)).join(', ');
    const rows = await sql<{ player_id: string; values: (string | null)[] }[]>`
      select t.player_id, to_json(array[${sql.unsafe(columns)}]) as values
      from player_totals t
      left join players p using (tenant_id, project_id, player_id)
      where t.tenant_id = ${tenant_id} and t.project_id = ${project_id} and ${within(sql, 't.player_id', part)}
      order by t.player_id limit ${limit}`;
    return rows.map(({ player_id, values }) => ({ key: player_id, player_id, values }));
  },
  readCopies: (clickhouse, project, part) =>
    readCopies(clickhouse, project, part, { table: 'players', key: 'player_id', columns: PLAYER_COLUMNS }),
};

const members: CopySource = {
  table: 'segment_members',
  columns: [],
  fieldOf: (key) => `segment ${key.slice(0, key.indexOf(' '))}`,
  async readRows(sql, { tenant_id, project_id }, part, limit) {
    const rows = await sql<{ segment_id: string; player_id: string }[]>`
      select m.segment_id, m.player_id from segment_members m
      join segments s using (tenant_id, project_id, segment_id)
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and s.deleted_at is null
        and ${withinPairs(sql, part)}
      order by m.segment_id, m.player_id limit ${limit}`;
    return rows.map(({ segment_id, player_id }) => ({
      key: `${segment_id} ${player_id}`,
      player_id,
      values: [],
    }));
  },
  readCopies: (clickhouse, project, part) =>
    readCopies(clickhouse, project, part, {
      table: 'segment_members',
      key: "concat(toString(segment_id), ' ', toString(player_id))",
      columns: [],
    }),
};

/** Columns of `message_sends`, in Postgres and in both tables of ClickHouse. */
const SEND_COLUMNS: readonly Column[] = [
  { name: 'player_id', kind: 'text' },
  { name: 'campaign_id', kind: 'text' },
  { name: 'variant_id', kind: 'text' },
  { name: 'channel', kind: 'text' },
  { name: 'status', kind: 'text' },
  { name: 'error_code', kind: 'text' },
  { name: 'enqueued_at', kind: 'time' },
  { name: 'sent_at', kind: 'time' },
  { name: 'delivered_at', kind: 'time' },
  { name: 'opened_at', kind: 'time' },
  { name: 'clicked_at', kind: 'time' },
  { name: 'bounced_at', kind: 'time' },
];

function sends(table: 'message_sends' | 'campaign_sends'): CopySource {
  const of_campaigns = table === 'campaign_sends';
  return {
    table,
    columns: SEND_COLUMNS,
    fieldOf: (key, column) => (column === undefined ? `message ${key}` : `message ${key} ${column}`),
    async readRows(sql, { tenant_id, project_id }, part, limit) {
      const columns = SEND_COLUMNS.map(({ name, kind }) => postgresText(name, kind)).join(', ');
      const rows = await sql<{ send_id: string; player_id: string; is_open: boolean; values: string[] }[]>`
        select send_id, player_id, status in ('queued', 'sending') as is_open,
          to_json(array[${sql.unsafe(columns)}]) as values
        from message_sends
        where tenant_id = ${tenant_id} and project_id = ${project_id} and ${within(sql, 'send_id', part)}
          ${of_campaigns ? sql`and campaign_id is not null` : sql``}
        order by send_id limit ${limit}`;
      return rows.map(({ send_id, ...row }) => ({ key: send_id, ...row }));
    },
    readCopies: (clickhouse, project, part) =>
      readCopies(clickhouse, project, part, { table, key: 'send_id', columns: SEND_COLUMNS }),
  };
}

const aliases: CopySource = {
  table: 'player_aliases',
  columns: [{ name: 'into_player_id', kind: 'text' }],
  fieldOf: () => 'into_player_id',
  async readRows(sql, { tenant_id, project_id }, part, limit) {
    const rows = await sql<{ player_id: string; into_player_id: string }[]>`
      select player_id, into_player_id from player_merges
      where tenant_id = ${tenant_id} and project_id = ${project_id} and aliased_at is not null
        and rewritten_at is null and ${within(sql, 'player_id', part)}
      order by player_id limit ${limit}`;
    return rows.map(({ player_id, into_player_id }) => ({
      key: player_id,
      player_id,
      values: [into_player_id],
    }));
  },
  readCopies: (clickhouse, project, part) =>
    readCopies(clickhouse, project, part, {
      table: 'player_aliases',
      key: 'player_id',
      columns: [{ name: 'into_player_id', kind: 'text' }],
    }),
};

/** Every table of ClickHouse that copies rows of Postgres. */
export const COPIES: readonly CopySource[] = [
  players,
  aliases,
  members,
  sends('message_sends'),
  sends('campaign_sends'),
];

/** The segments of a project that are not deleted: only their members are copied. */
export async function readLiveSegments(sql: Tx, { tenant_id, project_id }: Project): Promise<Set<string>> {
  const rows = await sql<{ segment_id: string }[]>`
    select segment_id from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null`;
  return new Set(rows.map(({ segment_id }) => segment_id));
}

function postgresText(source: string, kind: ColumnKind): string {
  return kind === 'time' ? `epoch_ms(${source})::text` : `(${source})::text`;
}

function within(sql: Tx, column: string, part: Part) {
  const id = () => sql.unsafe(column);
  if ('keys' in part) return sql`${id()} = any(${plainArray(part.keys)}::text::uuid[])`;
  const above = part.after === null ? sql`true` : sql`${id()} > ${part.after}::uuid`;
  return part.to === null ? above : sql`${above} and ${id()} <= ${part.to}::uuid`;
}

/** Keys of members are `<segment_id> <player_id>`. */
function withinPairs(sql: Tx, part: Part) {
  const pair = (key: string) => sql`(${key.slice(0, 36)}::uuid, ${key.slice(37)}::uuid)`;
  if ('keys' in part) {
    const [segments, ids] = [0, 37].map((at) => plainArray(part.keys.map((key) => key.slice(at, at + 36))));
    return sql`(m.segment_id, m.player_id) in (
      select * from unnest(${segments ?? ''}::text::uuid[], ${ids ?? ''}::text::uuid[]))`;
  }
  const above = part.after === null ? sql`true` : sql`(m.segment_id, m.player_id) > ${pair(part.after)}`;
  return part.to === null ? above : sql`${above} and (m.segment_id, m.player_id) <= ${pair(part.to)}`;
}

/**
 * Reads the rows that count. When rows of several players have the key (a message whose player was merged away), the
 * one with the highest revision comes last. Keys are compared as text, because ClickHouse orders UUIDs by their second
 * half.
 */
async function readCopies(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: Project,
  part: Part,
  { table, key, columns }: { table: string; key: string; columns: readonly Column[] },
): Promise<CopiedRow[]> {
  const bounds =
    'keys' in part
      ? ['row_key in {keys:Array(String)}']
      : [
          part.after === null ? 'true' : 'row_key > {after:String}',
          part.to === null ? 'true' : 'row_key <= {to:String}',
        ];
  const values = columns.map(({ name, kind }) => clickHouseText(name, kind)).join(', ');
  return clickhouse.query<CopiedRow>(
    `select toString(${key}) as row_key, row_key as key, player_id,
      ${columns.length === 0 ? 'CAST([] AS Array(Nullable(String)))' : `[${values}]`} as values
    from ${table} final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ${bounds.join(' and ')}
    order by revision`,
    { tenant_id, project_id, ...part },
  );
}

function clickHouseText(name: string, kind: ColumnKind): string {
  const value = kind === 'time' ? `toUnixTimestamp64Milli(${name})` : name;
  return `CAST(${value} AS Nullable(String))`;
}
