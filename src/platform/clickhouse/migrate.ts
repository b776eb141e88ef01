import { readMigrations, refuseNewer } from '../postgres/migrate.ts';
import type { ClickHouse } from './port.ts';

/**
 * Applies the files of `clickhouse/` that are missing. ClickHouse has no transactions, so every statement is
 * made repeatable and a file's record is written after its last statement. `{database}` in a file is the database's
 * name, for what ClickHouse runs later by itself, outside any connection's database. The caller sees to it that
 * no other process migrates at the same time. Rejects with SchemaTooNew.
 */
export async function migrateClickHouse(clickhouse: ClickHouse): Promise<void> {
  const migrations = await readMigrations('clickhouse');
  await clickhouse.command(
    'create table if not exists schema_migrations (version UInt32, name String, applied_at DateTime default now()) ' +
      'engine = ReplacingMergeTree order by version',
  );
  const rows = await clickhouse.query<{ version: number }>('select version from schema_migrations');
  const [current] = await clickhouse.query<{ database: string }>('select currentDatabase() as database');
  const database = current?.database ?? 'default';
  const applied = new Set(rows.map((row) => row.version));
  refuseNewer(Math.max(0, ...applied), migrations, 'ClickHouse');
  for (const migration of migrations) {
    if (applied.has(migration.version)) continue;
    const sql = migration.sql.replaceAll('{database}', database);
    for (const statement of splitStatements(sql)) await clickhouse.command(repeatable(statement));
    await clickhouse.command(
      'insert into schema_migrations (version, name) values ({version:UInt32}, {name:String})',
      {
        version: migration.version,
        name: migration.name,
      },
    );
  }
}

function splitStatements(sql: string): string[] {
  const withoutComments = sql.replace(/^\s*--.*$/gm, '');
  return withoutComments
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

function repeatable(statement: string): string {
  return statement.replace(/^create (table|materialized view|dictionary) /i, 'create $1 if not exists ');
}
