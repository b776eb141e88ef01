import { HELD_OUT_GLOBALLY } from '../analytics/journey-mirror-queries.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import {
  behind,
  isOneOf,
  postgresText,
  readCopies,
  type Column,
  type CopySource,
  type PageRequest,
  type PlacedRow,
} from './copy-source-queries.ts';

/** Runs that Postgres has no steps of any more, in a statement about one project. */
const ARCHIVED = `run_id in (select run_id from journey_runs final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and is_archived = 1)`;

const RUN_COLUMNS: readonly (Column & { source: string })[] = [
  { name: 'player_id', kind: 'text', source: 'player_id' },
  { name: 'journey_id', kind: 'text', source: 'journey_id' },
  { name: 'version', kind: 'integer', source: 'version' },
  { name: 'is_held_out', kind: 'integer', source: "(outcome is not distinct from 'held_out')::integer" },
  { name: 'is_held_out_globally', kind: 'integer', source: HELD_OUT_GLOBALLY },
  { name: 'started_at', kind: 'time', source: 'started_at' },
  { name: 'is_archived', kind: 'integer', source: 'is_archived::integer' },
];

const RUN_FIELDS = `tenant_id, project_id, run_id as key, player_id, ${valuesOf(RUN_COLUMNS)}`;

const runs: CopySource = {
  table: 'journey_runs',
  columns: RUN_COLUMNS,
  fieldOf: (key, column) => (column === undefined ? `run ${key}` : `run ${key} ${column}`),
  async readPage(sql, page) {
    return sql<PlacedRow[]>`
      select ${sql.unsafe(RUN_FIELDS)} from journey_runs
      where ${behind(sql, 'run_id', page)}
      order by run_id, tenant_id, project_id limit ${page.limit}`;
  },
  async readRows(sql, { tenant_id, project_id }, keys) {
    return sql<PlacedRow[]>`
      select ${sql.unsafe(RUN_FIELDS)} from journey_runs
      where tenant_id = ${tenant_id} and project_id = ${project_id} and ${isOneOf(sql, 'run_id', keys)}`;
  },
  readCopies: (clickhouse, project, part) =>
    readCopies(clickhouse, project, part, { table: 'journey_runs', key: 'run_id', columns: RUN_COLUMNS }),
};

/** Not the version and the player of the run, which a copy has as they were when it was made. */
const STEP_COLUMNS: readonly (Column & { source: string })[] = [
  { name: 'journey_id', kind: 'text', source: 'r.journey_id' },
  { name: 'node_id', kind: 'text', source: 's.node_id' },
  { name: 'node_type', kind: 'text', source: 's.node_type' },
  { name: 'status', kind: 'text', source: 's.status' },
  { name: 'outcome', kind: 'text', source: 's.outcome' },
  { name: 'next_node_id', kind: 'text', source: 's.next_node_id' },
  { name: 'ref', kind: 'text', source: 's.ref' },
  { name: 'error_code', kind: 'text', source: 's.error_code' },
  { name: 'entered_at', kind: 'time', source: 's.entered_at' },
  { name: 'completed_at', kind: 'time', source: 's.completed_at' },
];

/** Digits of a number in a key, so that keys sort as the numbers do. */
const DIGITS = 10;

const STEP_VALUES = valuesOf(STEP_COLUMNS);

function keySql(row: string): string {
  return `${row}.run_id::text || ' ' || lpad(${row}.seq::text, ${DIGITS}, '0') as key`;
}

const steps: CopySource = {
  table: 'journey_steps',
  columns: STEP_COLUMNS,
  fieldOf: (key, column) => (column === undefined ? `step ${key}` : `step ${key} ${column}`),
  async readPage(sql, page) {
    return sql<PlacedRow[]>`
      select s.tenant_id, s.project_id, ${sql.unsafe(keySql('s'))}, r.player_id, ${sql.unsafe(STEP_VALUES)}
      from (
        select * from journey_steps where ${behindStep(sql, page)}
        order by run_id, seq, tenant_id, project_id limit ${page.limit}
      ) s
      cross join lateral (
        select journey_id, player_id from journey_runs o
        where o.run_id = s.run_id and o.tenant_id = s.tenant_id and o.project_id = s.project_id offset 0) r
      order by s.run_id, s.seq, s.tenant_id, s.project_id`;
  },
  /** Of a run whose steps were removed every step is open: Postgres cannot tell whether a copy is right. */
  async readRows(sql, { tenant_id, project_id }, keys) {
    return sql<PlacedRow[]>`
      select r.tenant_id, r.project_id, ${sql.unsafe(keySql('w'))}, r.player_id, r.is_archived as is_open,
        ${sql.unsafe(STEP_VALUES)}
      from ${rowsOf(sql, 'w', keys, {
        run_id: ['uuid', (key) => key.slice(0, 36)],
        seq: ['integer', (key) => Number(key.slice(37))],
      })}
      cross join lateral (
        select o.* from journey_runs o
        where o.run_id = w.run_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} offset 0) r
      left join lateral (
        select o.* from journey_steps o
        where o.run_id = w.run_id and o.seq = w.seq and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
        offset 0) s on true
      where s.run_id is not null or r.is_archived`;
  },
  readCopies: (clickhouse, project, part) =>
    readCopies(clickhouse, project, part, {
      table: 'journey_steps',
      key: `concat(toString(run_id), ' ', leftPad(toString(seq), ${DIGITS}, '0'))`,
      columns: STEP_COLUMNS,
      condition: `not (${ARCHIVED})`,
    }),
};

function valuesOf(columns: readonly (Column & { source: string })[]): string {
  return `to_json(array[${columns.map(({ source, kind }) => postgresText(source, kind)).join(', ')}]) as values`;
}

/** The steps behind a step, in the order of their key. */
function behindStep(sql: Tx, { tenant_id, after }: PageRequest) {
  const of_tenant = tenant_id === undefined ? sql`true` : sql`tenant_id = ${tenant_id}`;
  if (after === undefined) return of_tenant;
  return sql`${of_tenant} and (run_id, seq, tenant_id, project_id)
    > (${after.key.slice(0, 36)}::uuid, ${Number(after.key.slice(37))}::integer, ${after.tenant_id}::uuid, ${after.project_id}::uuid)`;
}

/** The tables of ClickHouse that copy runs of journeys and their steps. */
export const JOURNEY_COPIES: readonly CopySource[] = [runs, steps];
