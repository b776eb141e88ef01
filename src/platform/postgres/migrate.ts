import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db, Tx } from './port.ts';
import { isDeadlock, isLockTimeout } from './retry.ts';
import { packageRoot } from '../../package-root.ts';
import { StartupError } from '../startup-error.ts';

/** The database was migrated by a newer version of the service; `message` says what to do. */
export class SchemaTooNew extends StartupError {
  override readonly name = 'SchemaTooNew';
}

/** The database was made by a version before the first release, by other migrations; `message` says what to do. */
export class SchemaTooOld extends StartupError {
  override readonly name = 'SchemaTooOld';
}

/** A migration that is applied to a database. */
export interface Applied {
  version: number;
  name: string;
  /** The name of the database. */
  database: string;
}

/** One migration file: `version` is the leading number of its name. */
export interface Migration {
  version: number;
  name: string;
  /** Reads the file. */
  sql: () => Promise<string>;
}

/** Finds the `NNN_name.sql` files of a folder below the package root, in order of their numbers. */
export async function findMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(join(packageRoot, folder)))
    .filter((name) => /^\d{3}_.*\.sql$/.test(name))
    .sort();
  return names.map((name) => ({
    version: Number(name.slice(0, 3)),
    name,
    sql: () => readFile(join(packageRoot, folder, name), 'utf8'),
  }));
}

/**
 * Those of the migrations that are not applied; `applied` is in the order of versions. Throws {@link SchemaTooOld} when a
 * migration of another name is applied, and {@link SchemaTooNew} when a version is applied that is higher than the newest of
 * the migrations.
 */
export function missingOf(
  engine: 'Postgres' | 'ClickHouse',
  migrations: readonly Migration[],
  applied: readonly Applied[],
): Migration[] {
  const names = new Map(migrations.map(({ version, name }) => [version, name]));
  const known = migrations.at(-1)?.version ?? 0;
  for (const { version, name, database } of applied) {
    if (version > known || names.get(version) === name) continue;
    throw new SchemaTooOld(
      `the ${engine} database ${database} was made by a version before 0.1.0, which cannot be upgraded: ` +
        'start with an empty database (with the embedded engines: with an empty DATA_DIR)',
    );
  }
  const newest = applied.at(-1);
  if (newest !== undefined && newest.version > known) {
    throw new SchemaTooNew(
      `the ${engine} database ${newest.database} is at schema ${newest.version}, this version knows ${known}: ` +
        'start a newer version of the service',
    );
  }
  const versions = new Set(applied.map(({ version }) => version));
  return migrations.filter(({ version }) => !versions.has(version));
}

/** A migration could not lock a table that it changes; `message` says what to do. */
export class MigrationBlocked extends StartupError {
  override readonly name = 'MigrationBlocked';
}

/**
 * The longest wait of a migration for the lock of a table. While it waits, everyone who needs the table waits behind
 * it.
 */
export const TABLE_LOCK_MS = 1_000;

/** How often a migration that meets a locked table is tried, and the pauses in which those who waited have their turn. */
export interface MigrationPatience {
  attempts: number;
  pause_ms: number;
}

/** Three minutes: longer than any transaction of the service lasts. */
export const PATIENCE: MigrationPatience = { attempts: 60, pause_ms: 2_000 };

const LOCK_KEY = 7_022_001;
const OTHER_LOCK_KEY = 7_022_003;

/**
 * Runs `work` under an advisory lock, so that one process at a time runs it: for databases without locks of their own.
 * Holds a connection of `sql` until `work` is done.
 */
export async function withMigrationLock(sql: Db, work: () => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${OTHER_LOCK_KEY})`;
    await work();
  });
}

/**
 * Applies the missing migrations of `folder` and their records in one transaction, under an advisory lock: a process
 * that dies leaves the schema as it was. When a table is locked for longer than {@link TABLE_LOCK_MS}, everything is
 * rolled back and tried again later, so that nobody else waits behind the migration. Rejects with {@link SchemaTooOld}
 * or {@link SchemaTooNew}, and with {@link MigrationBlocked} after the last attempt.
 */
export async function migratePostgres(
  sql: Db,
  folder = 'pg-migrations',
  patience: MigrationPatience = PATIENCE,
): Promise<void> {
  const migrations = await findMigrations(folder);
  if (await isComplete(sql, folder, migrations)) return;
  await repeatWhileLocked(folder, patience, () => applyMissing(sql, folder, migrations));
}

/**
 * Runs a migration, and runs it again after a pause when it has waited too long for the lock of a table, or in a circle. Rejects with
 * {@link MigrationBlocked} after the last attempt; `what` names the migration.
 */
export async function repeatWhileLocked(
  what: string,
  { attempts, pause_ms }: MigrationPatience,
  migrate: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await migrate();
      return;
    } catch (error) {
      if (!isLockTimeout(error) && !isDeadlock(error)) throw error;
      if (attempt === attempts) {
        throw new MigrationBlocked(
          `a migration (${what}) found a table locked ${attempts} times: end the transaction that uses the table ` +
            '(pg_stat_activity shows it), and start again',
          { cause: error },
        );
      }
    }
    await sleep(pause_ms);
  }
}

/** Whether nothing is missing: then a start takes no lock. */
async function isComplete(sql: Db, folder: string, migrations: readonly Migration[]): Promise<boolean> {
  const [row] = await sql<
    { exists: boolean }[]
  >`select to_regclass('schema_migrations') is not null as exists`;
  return row?.exists === true && missingOf('Postgres', migrations, await appliedOf(sql, folder)).length === 0;
}

async function appliedOf(sql: Db | Tx, folder: string): Promise<Applied[]> {
  return sql<Applied[]>`
    select version, name, current_database() as database from schema_migrations
    where folder = ${folder} order by version`;
}

async function applyMissing(sql: Db, folder: string, migrations: readonly Migration[]): Promise<void> {
  await sql.begin(async (tx) => {
    // Without a limit: another process may be migrating, and nobody waits behind this lock.
    await tx`select set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)`;
    await tx`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await tx`select set_config('lock_timeout', ${String(TABLE_LOCK_MS)}, true)`;
    await tx`create table if not exists schema_migrations (
      folder text not null, version integer not null, name text not null,
      applied_at timestamptz not null default now(), primary key (folder, version))`;
    const missing = missingOf('Postgres', migrations, await appliedOf(tx, folder));
    for (const { version, name, sql: read } of missing) {
      await tx.unsafe(await read());
      await tx`insert into schema_migrations (folder, version, name) values (${folder}, ${version}, ${name})`;
    }
  });
}
