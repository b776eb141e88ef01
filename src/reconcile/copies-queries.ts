import { MIRRORED } from '../analytics/mirrored-columns.ts';
import { NIL_ID } from '../platform/ids.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import {
  behind,
  isOneOf,
  postgresText,
  readCopies,
  type Column,
  type CopySource,
  type PlacedRow,
} from './copy-source-queries.ts';
import { JOURNEY_COPIES } from './journey-copies-queries.ts';
import { selectMembers, type MemberRow } from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { SEND_COPIES } from './send-copies-queries.ts';

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
    const rows = await sql<MemberRow[]>`
      select m.tenant_id, m.project_id, m.segment_id, m.player_id from segment_members m
      join segments s using (tenant_id, project_id, segment_id)
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and s.deleted_at is null
        and (m.segment_id, m.player_id) in (
          select * from ${rowsOf(sql, 'k', keys, {
            segment_id: ['uuid', (key) => key.slice(0, 36)],
            player_id: ['uuid', (key) => key.slice(37)],
          })})`;
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
export const COPIES: readonly CopySource[] = [players, aliases, members, ...SEND_COPIES, ...JOURNEY_COPIES];

/** The segments of a project that are not deleted: only their members are copied. */
export async function readLiveSegments(sql: Tx, { tenant_id, project_id }: ProjectRef): Promise<Set<string>> {
  const rows = await sql<{ segment_id: string }[]>`
    select segment_id from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null`;
  return new Set(rows.map(({ segment_id }) => segment_id));
}
