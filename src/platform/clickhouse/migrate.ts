import { readMigrations, refuseNewer } from '../postgres/migrate.ts';
import type { ClickHouse } from './port.ts';

/** Whom ClickHouse takes itself for when it reads by itself. */
export interface ClickHouseAccess {
  user: string;
  password: string;
}

/**
 * Applies the files of `clickhouse/` that are missing. ClickHouse has no transactions, so every statement is
 * made repeatable and a file's record is written after its last statement. For what ClickHouse runs later by itself,
 * outside any connection, `{database}` in a file is the database's name and `{access}` says as whom; without `access`
 * as the user `default`. The caller sees to it that no other process migrates at the same time. Rejects with
 * SchemaTooNew; no error repeats the password.
 */
export async function migrateClickHouse(clickhouse: ClickHouse, access?: ClickHouseAccess): Promise<void> {
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
    for (const statement of splitStatements(migration.sql)) {
      const complete = repeatable(statement)
        .replaceAll('{database}', () => database)
        .replaceAll('{access}', () => accessText(access));
      await clickhouse.command(complete).catch((error: unknown) => {
        throw withoutPassword(error, access);
      });
    }
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

function accessText(access: ClickHouseAccess | undefined): string {
  return access === undefined ? '' : `user ${quoted(access.user)} password ${quoted(access.password)} `;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** ClickHouse repeats of a statement what it could not read. */
function withoutPassword(error: unknown, access: ClickHouseAccess | undefined): unknown {
  if (access === undefined || access.password === '' || !(error instanceof Error)) return error;
  const secrets = [quoted(access.password).slice(1, -1), access.password];
  const message = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), error.message);
  return message === error.message ? error : new Error(message);
}
