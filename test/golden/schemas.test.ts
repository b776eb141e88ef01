import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MIRRORED } from '../../src/analytics/mirrored-columns.ts';
import { openTestClickHouse } from '../engines/wiring.ts';
import { migrateClickHouse } from '../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import { newId } from '../../src/platform/ids.ts';
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded-server.ts';
import {
  migratePostgres,
  findMigrations,
  SchemaTooNew,
  withMigrationLock,
} from '../../src/platform/postgres/migrate.ts';
import { connectPool, openPostgres } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { StartupError } from '../../src/platform/startup-error.ts';
import { expectGolden } from './golden.ts';
import { describePostgres } from './postgres-schema.ts';

let dir: string;
let postgres_dir: string;
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let owner: Db;
let clickhouse: ClickHouse;

/** Migrates Postgres as a process does when it starts. */
async function migrate(sql: Db): Promise<void> {
  await migratePostgres(sql);
  await migratePostgres(sql, 'pg-migrations/event-log');
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-schema-'));
  postgres_dir = await mkdtemp(join(tmpdir(), 'engagement-schema-postgres-'));
  server = await startEmbeddedPostgres({ dir: postgres_dir });
  owner = connectPool(server.url);
  clickhouse = await openTestClickHouse(join(dir, 'clickhouse'));
  // Three processes start at the same time on empty databases: every test below sees their result.
  const processes = [owner, connectPool(server.url), connectPool(server.url)];
  await Promise.all(processes.map(migrate));
  await Promise.all(processes.map((sql) => withMigrationLock(sql, () => migrateClickHouse(clickhouse))));
  await Promise.all(processes.slice(1).map((sql) => sql.end({ timeout: 5 })));
});
afterAll(async () => {
  await clickhouse.close();
  await owner.end({ timeout: 5 });
  await server.stop();
  for (const folder of [dir, postgres_dir]) await rm(folder, { recursive: true, force: true });
});

const appliedInPostgres = () => owner`select * from schema_migrations order by folder, version`;
const appliedInClickHouse = () =>
  clickhouse.query<{ version: number; name: string }>('select * from schema_migrations order by version');
async function describeClickHouse(): Promise<string> {
  const tables = await clickhouse.query<{ text: string }>(
    "select formatQuery(create_table_query) || ';' as text from system.tables where database = currentDatabase() order by name",
  );
  const header = '-- The schema that the migrations result in. Made by a test: UPDATE_GOLDEN=1 writes it anew.';
  return `${[header, ...tables.map(({ text }) => text)].join('\n\n')}\n`;
}

function refusalOf(engine: string, database: string): string {
  return (
    `the ${engine} database ${database} was made by a version before 0.1.0, which cannot be upgraded: ` +
    'start with an empty database (with the embedded engines: with an empty DATA_DIR)'
  );
}

describe('the migrations', () => {
  it('result in the Postgres schema of the golden file', async () => {
    await expectGolden('pg-migrations/schema.golden.sql', await describePostgres(owner));
  });

  it('result in the ClickHouse schema of the golden file', async () => {
    await expectGolden('clickhouse/schema.golden.sql', await describeClickHouse());
  });

  it('give ClickHouse one column per mirrored field, and no other', async () => {
    const columns = await clickhouse.query<{ name: string }>(
      "select name from system.columns where database = currentDatabase() and table = 'players'",
    );
    const mirrored = ['tenant_id', 'project_id', 'player_id', ...MIRRORED.map(({ name }) => name), 'is_deleted'];
    expect(columns.map(({ name }) => name).sort()).toEqual(mirrored.sort());
  });

  it('are applied once, even by processes that start at the same time', async () => {
    const files = [...(await findMigrations('pg-migrations')), ...(await findMigrations('pg-migrations/event-log'))];
    const inPostgres = await appliedInPostgres();
    expect(inPostgres.map((row) => String(row['name'])).sort()).toEqual(files.map(({ name }) => name).sort());
    const inClickHouse = await appliedInClickHouse();
    const clickhouseFiles = await findMigrations('clickhouse');
    expect(inClickHouse.map(({ name }) => name)).toEqual(clickhouseFiles.map(({ name }) => name));
  });

  it('change nothing when they run again', async () => {
    const before = [await appliedInPostgres(), await appliedInClickHouse()];
    const schemas = [await describePostgres(owner), await describeClickHouse()];
    await migrate(owner);
    await migrateClickHouse(clickhouse);
    expect([await appliedInPostgres(), await appliedInClickHouse()]).toEqual(before);
    expect([await describePostgres(owner), await describeClickHouse()]).toEqual(schemas);
  });

  it('continue after an interrupted ClickHouse migration', async () => {
    const before = await describeClickHouse();
    await clickhouse.command('truncate table schema_migrations');
    await migrateClickHouse(clickhouse);
    expect(await describeClickHouse()).toBe(before);
    expect(await appliedInClickHouse()).toHaveLength((await findMigrations('clickhouse')).length);
  });

  it('are rolled back when one fails, and the error names the table', async () => {
    await owner`create database half`;
    const half = connectPool(server.url.replace(/[^/]*$/, 'half'));
    await half`create table ledger (in_the_way integer)`;
    await expect(migrate(half)).rejects.toThrow(/ledger/);
    const tables = await half`select tablename from pg_tables where schemaname = 'public'`;
    expect(tables.map((row) => String(row['tablename']))).toEqual(['ledger']);
    await half.end({ timeout: 5 });
  });

  it('refuse a Postgres database of a version before 0.1.0 in one sentence, and change nothing in it', async () => {
    await owner`create database former`;
    const former = connectPool(server.url.replace(/[^/]*$/, 'former'));
    await former`create table schema_migrations (
      folder text not null, version integer not null, name text not null,
      applied_at timestamptz not null default now(), primary key (folder, version))`;
    const applied = [
      { folder: 'pg-migrations', version: 1, name: '001_tenants.sql' },
      { folder: 'pg-migrations', version: 2, name: '002_players.sql' },
      { folder: 'pg-migrations', version: 160, name: '160_job_priority.sql' },
      { folder: 'pg-migrations/event-log', version: 1, name: '001_event_log.sql' },
      { folder: 'pg-migrations/event-log', version: 2, name: '002_log_id.sql' },
    ];
    await former`insert into schema_migrations ${former(applied, 'folder', 'version', 'name')}`;
    for (const folder of ['pg-migrations', 'pg-migrations/event-log']) {
      const refused: unknown = await migratePostgres(former, folder).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(StartupError);
      expect(refused).toMatchObject({ message: refusalOf('Postgres', 'former') });
    }
    const tables = await former`select tablename from pg_tables where schemaname = 'public'`;
    expect(tables.map((row) => String(row['tablename']))).toEqual(['schema_migrations']);
    await former.end({ timeout: 5 });
  });

  it('refuse a ClickHouse of a version before 0.1.0 in one sentence, and change nothing in it', async () => {
    const before = await describeClickHouse();
    await clickhouse.command('truncate table schema_migrations');
    const applied = ['001_events.sql', '002_players.sql', '003_aliases.sql', '011_healed_numbers.sql'];
    const rows = applied.map((name) => `(${Number(name.slice(0, 3))}, '${name}')`).join(', ');
    await clickhouse.command(`insert into schema_migrations (version, name) values ${rows}`);
    const refused: unknown = await migrateClickHouse(clickhouse).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StartupError);
    expect(refused).toMatchObject({ message: refusalOf('ClickHouse', 'default') });
    expect((await appliedInClickHouse()).map(({ name }) => name)).toEqual(applied);
    await clickhouse.command('truncate table schema_migrations');
    await migrateClickHouse(clickhouse);
    expect(await describeClickHouse()).toBe(before);
  });

  it('refuse databases of a newer version and change nothing in them', async () => {
    for (const folder of ['pg-migrations', 'pg-migrations/event-log']) {
      await owner`insert into schema_migrations (folder, version, name) values (${folder}, 999, '999_future.sql')`;
      await expect(migratePostgres(owner, folder)).rejects.toThrow(SchemaTooNew);
      await expect(migratePostgres(owner, folder)).rejects.toThrow(/999.*newer version of the service/);
      await owner`delete from schema_migrations where version = 999`;
    }
    await clickhouse.command("insert into schema_migrations (version, name) values (999, '999_future.sql')");
    await expect(migrateClickHouse(clickhouse)).rejects.toThrow(SchemaTooNew);
    await clickhouse.command('alter table schema_migrations delete where version = 999 settings mutations_sync = 1');
    await migrateClickHouse(clickhouse);
  });
});

/** Tables with a row per player, membership or message that are looked up by more than one index. */
const LARGE = [
  'bonus_breaches',
  'bonus_campaign_rows',
  'bonus_campaign_terms',
  'bonus_contributions',
  'bonus_grant_events',
  'bonus_grants',
  'deposit_limits',
  'evaluated_players',
  'event_ids',
  'journey_runs',
  'journey_steps',
  'kyc_calls',
  'kyc_decisions',
  'merged_addresses',
  'message_sends',
  'open_withdrawals',
  'player_identities',
  'player_merges',
  'player_tier_history',
  'player_totals',
  'players',
  'segment_members',
  'sent_ids',
  'tier_deadlines',
];

describe('tenancy', () => {
  it('every table with tenant_id has row-level security forced and tenant_id in its key', async () => {
    const tables = await owner<{ name: string; enabled: boolean; forced: boolean; key: string[] }[]>`
      select c.relname as name, c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
        array(select a.attname::text from pg_index i
          cross join lateral unnest(i.indkey) with ordinality as k (attnum, n)
          join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
          where i.indrelid = c.oid and i.indisprimary order by k.n) as key
      from pg_class c
      where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
        and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id' and not attisdropped)
      order by 1`;
    expect(tables.length).toBeGreaterThan(9);
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['players', 'player_totals']));
    for (const { name, key, ...table } of tables) {
      expect({ name, ...table }).toEqual({ name, enabled: true, forced: true });
      expect(key, name).toContain('tenant_id');
      if (!LARGE.includes(name)) expect(key[0], name).toBe('tenant_id');
    }
  });

  it('every table whose rows have the number of their project has it first in its key, and the API role only reads it', async () => {
    const tables = await owner<{ name: string; enabled: boolean; forced: boolean; key: string; is_open: boolean }[]>`
      select c.relname as name, c.relrowsecurity as enabled, c.relforcerowsecurity as forced, a.attname as key,
        has_table_privilege('engagement_api', c.oid, 'insert, update, delete, truncate') as is_open
      from pg_class c
      join pg_index i on i.indrelid = c.oid and i.indisprimary
      join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
      where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and c.relname <> 'projects'
        and exists (select from pg_attribute where attrelid = c.oid and attname = 'project_no' and not attisdropped)
      order by 1`;
    const as_it_must_be = { enabled: true, forced: true, key: 'project_no', is_open: false };
    expect(new Set(tables)).toEqual(
      new Set(['bet_items', 'ledger'].map((name) => ({ name, ...as_it_must_be }))),
    );
  });

  it('of a large table only indexes with a condition begin with the tenant or the project', async () => {
    const indexes = await owner<{ name: string; first: string; has_condition: boolean }[]>`
      select i.indexrelid::regclass::text as name, a.attname as first, i.indpred is not null as has_condition
      from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = any(${LARGE}::text[]::regclass[])`;
    expect(indexes.length).toBeGreaterThan(LARGE.length);
    const ambiguous = indexes.filter(
      ({ first, has_condition }) => !has_condition && ['tenant_id', 'project_id'].includes(first),
    );
    expect(ambiguous).toEqual([]);
  });

  it('the API role owns nothing, bypasses no policy and is a member of no other role', async () => {
    const [role] = await owner`select * from pg_roles where rolname = 'engagement_api'`;
    expect(role).toMatchObject({
      rolsuper: false,
      rolbypassrls: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolcanlogin: false,
      rolreplication: false,
    });
    const owned = await owner`select from pg_class where relowner = 'engagement_api'::regrole`;
    const memberships = await owner`select from pg_auth_members where member = 'engagement_api'::regrole`;
    const definers = await owner`select oid::regprocedure::text from pg_proc
      where prosecdef and pronamespace in ('public'::regnamespace, 'event_log'::regnamespace)`;
    expect([owned.length, memberships.length]).toEqual([0, 0]);
    // The others read the jobs of the transaction's own tenant.
    const givenUp = ['jobs_given_up(integer)', 'job_given_up_at(text)'];
    // This function only adds a job. The jobs themselves are out of reach for every role but their owner.
    const queueJob = 'queue_job(text,json,integer,text,text,timestamp with time zone,integer)';
    expect(definers.map(({ oid }) => String(oid))).toEqual([queueJob, ...givenUp]);
  });

  it('the API role cannot access tables without a tenant_id', async () => {
    const open = await owner`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind in ('r', 'p', 'v', 'm') and c.relnamespace::regnamespace::text in ('public', 'event_log')
        and has_table_privilege('engagement_api', c.oid, 'select, insert, update, delete')
        and not exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id')`;
    // Their policies go by the projects of the tenant.
    expect(open.map(({ name }) => String(name)).toSorted()).toEqual(['bet_items', 'ledger']);
  });

  it('the API role reads only rows of the ledger that are of projects of its transaction’s tenant', async () => {
    const postgres = openPostgres(server.url);
    const tenants = [newId(), newId()];
    for (const tenant_id of tenants) {
      const project_id = newId();
      await postgres.service`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
      await postgres.service`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'P')`;
      await postgres.service`
        insert into ledger (project_no, reference, ordinal, event, player_id, occurred_at, ingestion_id, event_index,
          log_partition, log_offset)
        select project_no, ${tenant_id}, 0, 'bet_lost', ${newId()}, now(), ${newId()}, 0, 0, 0
        from projects where project_id = ${project_id}`;
    }
    for (const tenant_id of tenants) {
      const seen = await postgres.readAsTenant(
        tenant_id,
        (tx) => tx<{ reference: string }[]>`select reference from ledger`,
      );
      expect(seen.map(({ reference }) => reference)).toEqual([tenant_id]);
      const changing = postgres.asTenant(tenant_id, (tx) => tx`update ledger set base_amount = 1`);
      await expect(changing).rejects.toThrow(/permission denied/);
    }
    await postgres.close();
  });

  it('the API role reads and writes only rows of its transaction’s tenant', async () => {
    const postgres = openPostgres(server.url);
    const [mine, other] = [newId(), newId()];
    for (const tenant_id of [mine, other]) {
      await postgres.service`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
      await postgres.service`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${newId()}, 'P')`;
    }
    const seen = await postgres.asTenant(mine, (tx) => tx`select tenant_id from projects`);
    expect(seen.map((row) => String(row['tenant_id']))).toEqual([mine]);
    const changed = await postgres.asTenant(mine, (tx) => tx`update projects set name = 'Mine'`);
    expect(changed.count).toBe(1);
    const insertion = postgres.asTenant(
      mine,
      (tx) => tx`insert into projects (tenant_id, project_id, name) values (${other}, ${newId()}, 'Foreign')`,
    );
    await expect(insertion).rejects.toThrow(/row-level security/);
    const theft = postgres.asTenant(mine, (tx) => tx`update projects set tenant_id = ${other}`);
    await expect(theft).rejects.toThrow(/row-level security/);
    // Without a tenant the role sees no rows: a forgotten tenant fails closed.
    const api = connectPool(server.url, { role: 'engagement_api', max: 1 });
    expect(await api`select from projects`).toHaveLength(0);
    await api.end({ timeout: 5 });
    await postgres.close();
  });
});
