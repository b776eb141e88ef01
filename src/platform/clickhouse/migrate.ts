import { findMigrations, missingOf, type Applied } from '../postgres/migrate.ts';
import type { ClickHouse } from './port.ts';

/** The user as which ClickHouse itself reads, outside any connection, for example to load a dictionary. */
export interface ClickHouseAccess {
  user: string;
  password: string;
}

/**
 * Applies the missing files of `clickhouse/`. ClickHouse has no transactions, so every statement is made repeatable,
 * and the record of a file is written after its last statement. Some definitions run later inside ClickHouse, outside
 * any connection: for them `{database}` in a file is replaced by the database's name, and `{access}` by the user and
 * password; without `access` ClickHouse uses the user `default`. The caller must ensure that no other process migrates
 * at the same time. Rejects with SchemaTooOld or SchemaTooNew; no error message contains the password.
 */
export async function migrateClickHouse(clickhouse: ClickHouse, access?: ClickHouseAccess): Promise<void> {
  await clickhouse.command(
    'create table if not exists schema_migrations (version UInt32, name String, applied_at DateTime default now()) ' +
      'engine = ReplacingMergeTree order by version',
  );
  const applied = await clickhouse.query<Applied>(
    'select version, name, currentDatabase() as database from schema_migrations order by version',
  );
  const missing = missingOf('ClickHouse', await findMigrations('clickhouse'), applied);
  if (missing.length === 0) return;
  const [current] = await clickhouse.query<{ database: string }>('select currentDatabase() as database');
  const database = current?.database ?? 'default';
  for (const migration of missing) {
    for (const statement of splitStatements(await migration.sql())) {
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

/** Removes the password from an error: ClickHouse quotes the part of a statement that it could not parse. */
function withoutPassword(error: unknown, access: ClickHouseAccess | undefined): unknown {
  if (access === undefined || access.password === '' || !(error instanceof Error)) return error;
  const secrets = [quoted(access.password).slice(1, -1), access.password];
  const message = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), error.message);
  return message === error.message ? error : new Error(message);
}
