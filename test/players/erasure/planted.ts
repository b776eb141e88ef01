import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { ERASED_IN_POSTGRES } from './personal-columns.ts';

/** A player with texts that nothing else has. */
export interface Planted extends ProjectRef {
  player_id: string;
  /** Part of every text about the player. */
  marker: string;
  /** Digits of the telephone number, which cannot have letters. */
  digits: string;
}

/** Texts that nothing else has; those of several people begin with the same. */
export function newMarkers(): { texts: string[]; of: (n: number) => Pick<Planted, 'marker' | 'digits'> } {
  const [marker, digits] = [`canary${randomBytes(9).toString('hex')}`, `8${randomInt(10 ** 9, 10 ** 10)}`];
  return {
    texts: [marker, digits],
    of: (n) => ({ marker: `${marker}x${n}`, digits: `${digits}${String(n).padStart(4, '0')}` }),
  };
}

type Values = Record<string, unknown>;

/** A row about the player in every table that an erasure empties, with a marker in each column that it has to empty. */
export async function plantRows(sql: Tx, planted: Planted): Promise<void> {
  const { tenant_id, project_id, player_id } = planted;
  const [run_id, send_id, grant_id, listener_id] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const own = { tenant_id, project_id, player_id };
  const rows: [string, Values][] = [
    ['kyc_decisions', { ...own, kind: 'approved', source: 'api', applied: true, kyc_status: 'approved' }],
    ['kyc_calls', { ...own, action: 'update', next_attempt_at: null }],
    ['player_tier_history', { ...own, trigger: 'manual' }],
    [
      'message_sends',
      { ...own, send_id, channel: 'email', status: 'failed', error_code: 'PROVIDER_REJECTED' },
    ],
    ['sandbox_messages', { tenant_id, send_id, channel: 'email' }],
    [
      'journey_runs',
      {
        ...own,
        run_id,
        status: 'completed',
        node_id: 'end',
        trigger_key: 'planted',
        re_entry: 'always',
        completed_at: new Date(),
      },
    ],
    [
      'webhook_deliveries',
      {
        ...own,
        journey_id: listener_id,
        journey_version: 1,
        run_id,
        node_id: 'w',
        seq: 1,
        url: 'https://example.com/',
        host: 'example.com',
        headers: {},
        status: 'failed',
        completed_at: new Date(),
      },
    ],
    [
      'trigger_events',
      {
        ...own,
        listener_id,
        listener_kind: 'journey',
        event_key: randomUUID(),
        player_xid: '3',
        keep_until: new Date(Date.now() + 86_400_000),
        decided_at: new Date(),
        outcome: 'refused',
      },
    ],
    [
      'bonus_grants',
      {
        ...own,
        grant_id,
        granted_by_kind: 'api',
        terms: {},
        slot: 1,
        status: 'completed',
        outcome: 'confirmed',
        adapter_slug: 'sandbox',
        currency: 'EUR',
      },
    ],
    [
      'bonus_grant_events',
      {
        tenant_id,
        project_id,
        grant_id,
        event: 'bonus.completed',
        source: 'adapter',
        to_status: 'completed',
      },
    ],
    ['sandbox_bonuses', { tenant_id, project_id, grant_id, adapter_slug: 'sandbox', status: 'active' }],
    ...[player_id, run_id, grant_id].map((resource_id): [string, Values] => [
      'audit_log',
      {
        tenant_id,
        project_id,
        user_id: 'somebody',
        role: 'owner',
        action: 'update',
        resource_type: 'player',
        resource_id,
        request_id: 'planted',
      },
    ]),
    [
      'idempotency_keys',
      {
        tenant_id,
        route: `POST ${player_id}`,
        status: 200,
        response: JSON.stringify({ player_id, text: planted.marker }),
      },
    ],
  ];
  for (const [table, values] of rows) await insertRow(sql, table, values, planted.marker);
}

/** What is planted where a form is asked for. */
const SHAPED: Readonly<Record<string, (marker: string) => unknown>> = {
  'bonus_grants.status_reason': (marker) => `it says ${marker}`,
  'bonus_grants.facts': (marker) => ({ reason: marker }),
  'bonus_grants.order_body': (marker) => JSON.stringify({ order: marker }),
};

/** Inserts a row with the given values, markers in the columns that are to be erased, and anything in the others. */
async function insertRow(sql: Tx, table: string, given: Values, marker: string): Promise<void> {
  const columns = await sql<{ name: string; type: string; is_needed: boolean }[]>`
    select column_name as name, udt_name as type,
      is_nullable = 'NO' and column_default is null and is_identity = 'NO' as is_needed
    from information_schema.columns
    where table_schema = 'public' and table_name = ${table} and is_generated = 'NEVER'`;
  const erased = ERASED_IN_POSTGRES[table] ?? [];
  const row: Values = {};
  for (const { name, type, is_needed } of columns) {
    const shaped = SHAPED[`${table}.${name}`];
    if (name in given) row[name] = given[name];
    else if (erased.includes(name)) row[name] = shaped?.(marker) ?? planted(type, marker);
    else if (is_needed) row[name] = anything(type);
  }
  const names = Object.keys(row);
  await sql`
    insert into ${sql(table)} (${sql(names)})
    select ${sql.unsafe(names.map((name) => `r.${name}`).join(', '))}
    from jsonb_populate_record(null::${sql(table)}, ${JSON.stringify(row)}::text::jsonb) r`;
}

function planted(type: string, marker: string): unknown {
  if (type === 'jsonb') return { deep: [{ [marker]: `about ${marker}` }] };
  return type === '_text' ? [marker] : `about ${marker}`;
}

function anything(type: string): unknown {
  const of: Record<string, () => unknown> = {
    uuid: randomUUID,
    timestamptz: () => new Date(),
    jsonb: () => ({}),
    text: () => 'x',
    bool: () => false,
    bytea: () => '\\x00',
  };
  return (of[type] ?? (() => 1))();
}

/** Where in Postgres a text is found, as `table: row`; without the event log, which no erasure can change. */
export async function foundInPostgres(
  { postgres }: Pick<Platform, 'postgres'>,
  texts: readonly string[],
): Promise<string[]> {
  return postgres.service.begin(async (tx) => {
    // The owner of the connections also reads the jobs.
    await tx`set local role none`;
    const tables = await tx<{ name: string }[]>`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind = 'r' and c.relnamespace::regnamespace::text in ('public', 'graphile_worker')
      order by 1`;
    const found: string[] = [];
    for (const { name } of tables) {
      const rows = await tx<{ text: string }[]>`
        select t::text as text from ${tx.unsafe(name)} t
        where exists (select from jsonb_array_elements_text(${JSON.stringify(texts)}::text::jsonb) as m (marker)
          where position(m.marker in t::text) > 0)`;
      found.push(...rows.map(({ text }) => `${name}: ${text}`));
    }
    return found;
  });
}

/** Where in ClickHouse a text is found, in rows of every version. */
export async function foundInClickHouse(
  { clickhouse }: Pick<Platform, 'clickhouse'>,
  texts: readonly string[],
): Promise<string[]> {
  const tables = await clickhouse.query<{ name: string }>(
    "select name from system.tables where database = currentDatabase() and engine like '%MergeTree' order by name",
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await clickhouse.query<{ text: string }>(
      `select toString(tuple(*)) as text from ${name} where multiSearchAny(toString(tuple(*)), {texts:Array(String)})`,
      { texts },
    );
    found.push(...rows.map(({ text }) => `${name}: ${text}`));
  }
  return found;
}
