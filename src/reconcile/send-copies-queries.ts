import {
  behind,
  isOneOf,
  postgresText,
  readCopies,
  type Column,
  type CopySource,
  type PlacedRow,
} from './copy-source-queries.ts';

/** A column of a message: what it is called in ClickHouse, and in Postgres where that differs. */
type SendColumn = Column & { source?: string };

const STAGES: readonly SendColumn[] = [
  { name: 'sent_at', kind: 'time' },
  { name: 'delivered_at', kind: 'time' },
  { name: 'opened_at', kind: 'time' },
  { name: 'clicked_at', kind: 'time' },
  { name: 'bounced_at', kind: 'time' },
];

/** Columns of `message_sends` and `campaign_sends`. */
const SEND_COLUMNS: readonly SendColumn[] = [
  { name: 'player_id', kind: 'text' },
  { name: 'campaign_id', kind: 'text' },
  { name: 'variant_id', kind: 'text' },
  { name: 'channel', kind: 'text' },
  { name: 'status', kind: 'text' },
  { name: 'error_code', kind: 'text' },
  { name: 'enqueued_at', kind: 'time' },
  { name: 'assigned_at', kind: 'time' },
  { name: 'is_own_hour', kind: 'integer', source: 'is_own_hour::integer' },
  ...STAGES,
];

const JOURNEY_COLUMNS: readonly SendColumn[] = [
  { name: 'player_id', kind: 'text' },
  { name: 'journey_id', kind: 'text' },
  { name: 'run_id', kind: 'text', source: 'journey_run_id' },
  { name: 'node_id', kind: 'text', source: 'dedup_key' },
  { name: 'status', kind: 'text' },
  { name: 'error_code', kind: 'text' },
  ...STAGES,
];

type SendRow = Omit<PlacedRow, 'key'> & { send_id: string };

function bySend({ send_id, ...row }: SendRow): PlacedRow {
  return { key: send_id, ...row };
}

/** `condition`: which rows of Postgres the table has. */
function sends(
  table: 'message_sends' | 'campaign_sends' | 'journey_sends',
  columns: readonly SendColumn[],
  condition: string,
): CopySource {
  const values = columns.map(({ name, source, kind }) => postgresText(source ?? name, kind)).join(', ');
  const fields = `tenant_id, project_id, send_id, player_id, status in ('queued', 'sending') as is_open,
    to_json(array[${values}]) as values`;
  return {
    table,
    columns,
    fieldOf: (key, column) => (column === undefined ? `message ${key}` : `message ${key} ${column}`),
    async readPage(sql, page) {
      const rows = await sql<SendRow[]>`
        select ${sql.unsafe(fields)} from message_sends
        where ${behind(sql, 'send_id', page)} and ${sql.unsafe(condition)}
        order by send_id, tenant_id, project_id limit ${page.limit}`;
      return rows.map(bySend);
    },
    async readRows(sql, { tenant_id, project_id }, keys) {
      const rows = await sql<SendRow[]>`
        select ${sql.unsafe(fields)} from message_sends
        where tenant_id = ${tenant_id} and project_id = ${project_id} and ${isOneOf(sql, 'send_id', keys)}
          and ${sql.unsafe(condition)}`;
      return rows.map(bySend);
    },
    readCopies: (clickhouse, project, part) =>
      readCopies(clickhouse, project, part, { table, key: 'send_id', columns }),
  };
}

/** The tables of ClickHouse that copy messages. */
export const SEND_COPIES: readonly CopySource[] = [
  sends('message_sends', SEND_COLUMNS, 'true'),
  sends('campaign_sends', SEND_COLUMNS, 'campaign_id is not null'),
  sends('journey_sends', JOURNEY_COLUMNS, 'journey_id is not null'),
];
