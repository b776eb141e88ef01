import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { MIRRORED, type ColumnKind } from '../../analytics/mirrored-columns.ts';
import { selectMembers, type MemberRow } from './member-queries.ts';
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

/** Copies with `after < key <= to`, null: no bound; or the copies with these keys. */
export type Part = { after: string | null; to: string | null } | { keys: readonly string[] };

/** A row with the project that it belongs to. */
export type PlacedRow = CopiedRow & Project;

/** A page of rows of all projects, or those of one tenant: up to `limit` rows behind the row `after`. */
export interface PageRequest {
  tenant_id: string | undefined;
  after: PlacedRow | undefined;
  limit: number;
}

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
  /**
   * A page of the rows in Postgres by key and then by project, as the index of the key has them: it begins with the id
   * of the row, so that rows of one project can only be read among those of all others.
   */
  readPage(sql: Tx, page: PageRequest): Promise<PlacedRow[]>;
  /** The rows of a project in Postgres with these keys. */
  readRows(sql: Tx, project: Project, keys: readonly string[]): Promise<CopiedRow[]>;
  /** The rows of the part in ClickHouse. */
  readCopies(clickhouse: ClickHouse, project: Project, part: Part): Promise<CopiedRow[]>;
}

const PLAYER_COLUMNS: readonly Column[] = MIRRORED.map(({ name, kind }) => ({ name, kind }));

const PLAYER_VALUES = `to_json(array[${MIRRORED.map(({ source, kind }) => postgresText(source, kind)).join(', ')}])`;

const players: CopySource = {
  table: 'players',
  columns: PLAYER_COLUMNS,
  fieldOf: (_key, column = 'revision') => column,
  async readPage(sql, page) {
    const rows = await sql<PlayerRow[]>`
      select t.tenant_id, t.project_id, t.player_id, ${sql.unsafe(PLAYER_VALUES)} as values
      from (
        select * from player_totals where ${behind(sql, 'player_id', page)}
        order by player_id, tenant_id, project_id limit ${page.limit}
      ) t
      left join lateral (
        select * from players p
        where p.tenant_id = t.tenant_id and p.project_id = t.project_id and p.player_id = t.player_id offset 0) p on true
      order by t.player_id, t.tenant_id, t.project_id`;
    return rows.map(byPlayer);
  },
  async readRows(sql, { tenant_id, project_id }, keys) {
    const rows = await sql<PlayerRow[]>`
      select t.tenant_id, t.project_id, t.player_id, ${sql.unsafe(PLAYER_VALUES)} as values
      from player_totals t
      left join players p using (tenant_id, project_id, player_id)
      where t.tenant_id = ${tenant_id} and t.project_id = ${project_id} and ${isOneOf(sql, 't.player_id', keys)}`;
    return rows.map(byPlayer);
  },
  readCopies: (clickhouse, project, part) =>
    readCopies(clickhouse, project, part, { table: 'players', key: 'player_id', columns: PLAYER_COLUMNS }),
};

type PlayerRow = Omit<PlacedRow, 'key'>;

function byPlayer(row: PlayerRow): PlacedRow {
  return { key: row.player_id, ...row };
}

const members: CopySource = {
  table: 'segment_members',
  columns: [],
  fieldOf: (key) => `segment ${key.slice(0, key.indexOf(' '))}`,
  async readPage(sql, { tenant_id, after, limit }) {
    const [segment_id = NIL_ID, player_id = NIL_ID] = after?.key.split(' ') ?? [];
    const rows = await selectMembers(sql, { tenant_id }, { segment_id, player_id }, limit);
    return rows.map(byMember);
  },
  async readRows(sql, { tenant_id, project_id }, keys) {
    const [segments, ids] = [0, 37].map((at) => plainArray(keys.map((key) => key.slice(at, at + 36))));
    const rows = await sql<MemberRow[]>`
      select m.tenant_id, m.project_id, m.segment_id, m.player_id from segment_members m
      join segments s using (tenant_id, project_id, segment_id)
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and s.deleted_at is null
        and (m.segment_id, m.player_id) in (
          select * from unnest(${segments ?? ''}::text::uuid[], ${ids ?? ''}::text::uuid[]))`;
    return rows.map(byMember);
  },
  readCopies: (clickhouse, project, part) =>
    readCopies(clickhouse, project, part, {
      table: 'segment_members',
      key: "concat(toString(segment_id), ' ', toString(player_id))",
      columns: [],
    }),
};

function byMember({ segment_id, ...row }: MemberRow): PlacedRow {
  return { key: `${segment_id} ${row.player_id}`, ...row, values: [] };
}

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

const SEND_FIELDS = `tenant_id, project_id, send_id, player_id, status in ('queued', 'sending') as is_open,
  to_json(array[${SEND_COLUMNS.map(({ name, kind }) => postgresText(name, kind)).join(', ')}]) as values`;

type SendRow = Omit<PlacedRow, 'key'> & { send_id: string };

function bySend({ send_id, ...row }: SendRow): PlacedRow {
  return { key: send_id, ...row };
}

function sends(table: 'message_sends' | 'campaign_sends'): CopySource {
  const of_campaigns = table === 'campaign_sends';
  return {
    table,
    columns: SEND_COLUMNS,
    fieldOf: (key, column) => (column === undefined ? `message ${key}` : `message ${key} ${column}`),
    async readPage(sql, page) {
      const rows = await sql<SendRow[]>`
        select ${sql.unsafe(SEND_FIELDS)} from message_sends
        where ${behind(sql, 'send_id', page)} ${of_campaigns ? sql`and campaign_id is not null` : sql``}
        order by send_id, tenant_id, project_id limit ${page.limit}`;
      return rows.map(bySend);
    },
    async readRows(sql, { tenant_id, project_id }, keys) {
      const rows = await sql<SendRow[]>`
        select ${sql.unsafe(SEND_FIELDS)} from message_sends
        where tenant_id = ${tenant_id} and project_id = ${project_id} and ${isOneOf(sql, 'send_id', keys)}
          ${of_campaigns ? sql`and campaign_id is not null` : sql``}`;
      return rows.map(bySend);
    },
    readCopies: (clickhouse, project, part) =>
      readCopies(clickhouse, project, part, { table, key: 'send_id', columns: SEND_COLUMNS }),
  };
}

const aliases: CopySource = {
  table: 'player_aliases',
  columns: [{ name: 'into_player_id', kind: 'text' }],
  fieldOf: () => 'into_player_id',
  async readPage(sql, page) {
    const rows = await sql<PlayerRow[]>`
      select tenant_id, project_id, player_id, array[into_player_id::text] as values from player_merges
      where aliased_at is not null and rewritten_at is null and ${behind(sql, 'player_id', page)}
      order by player_id, tenant_id, project_id limit ${page.limit}`;
    return rows.map(byPlayer);
  },
  async readRows(sql, { tenant_id, project_id }, keys) {
    const rows = await sql<PlayerRow[]>`
      select tenant_id, project_id, player_id, array[into_player_id::text] as values from player_merges
      where tenant_id = ${tenant_id} and project_id = ${project_id} and aliased_at is not null
        and rewritten_at is null and ${isOneOf(sql, 'player_id', keys)}`;
    return rows.map(byPlayer);
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

/** The rows behind a row, in the order of a key that begins with `column`. */
function behind(sql: Tx, column: 'player_id' | 'send_id', { tenant_id, after }: PageRequest) {
  const of_tenant = tenant_id === undefined ? sql`true` : sql`tenant_id = ${tenant_id}`;
  if (after === undefined) return of_tenant;
  return sql`${of_tenant} and (${sql(column)}, tenant_id, project_id)
    > (${after.key}::uuid, ${after.tenant_id}::uuid, ${after.project_id}::uuid)`;
}

function isOneOf(sql: Tx, column: string, keys: readonly string[]) {
  return sql`${sql.unsafe(column)} = any(${plainArray(keys)}::text::uuid[])`;
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
