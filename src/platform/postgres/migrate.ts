import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from './port.ts';
import { packageRoot } from '../../package-root.ts';

/** The database was migrated by a newer version of the service; `message` says what to do. */
export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew';
}

/** One migration file: `version` is the leading number of its name. */
export interface Migration {
  version: number;
  name: string;
  sql: string;
}

/** Reads the `NNN_name.sql` files of a folder below the package root, in order of their numbers. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(join(packageRoot, folder)))
    .filter((name) => /^\d{3}_.*\.sql$/.test(name))
    .sort();
  return Promise.all(
    names.map(async (name) => ({
      version: Number(name.slice(0, 3)),
      name,
      sql: await readFile(join(packageRoot, folder, name), 'utf8'),
    })),
  );
}

/** Throws {@link SchemaTooNew} when the database's version is higher than the newest migration of this version. */
export function refuseNewer(applied: number, migrations: readonly Migration[], database: string): void {
  const known = migrations.at(-1)?.version ?? 0;
  if (applied > known) {
    throw new SchemaTooNew(
      `${database} is at schema ${applied}, this version knows ${known}: start a newer version of the service`,
    );
  }
}

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
 * that dies leaves the schema as it was. Rejects with {@link SchemaTooNew}.
 */
export async function migratePostgres(sql: Db, folder = 'pg-migrations'): Promise<void> {
  const migrations = await readMigrations(folder);
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await tx`create table if not exists schema_migrations (
      folder text not null, version integer not null, name text not null,
      applied_at timestamptz not null default now(), primary key (folder, version))`;
    const rows = await tx<
      { version: number }[]
    >`select version from schema_migrations where folder = ${folder}`;
    const applied = new Set(rows.map((row) => row.version));
    refuseNewer(Math.max(0, ...applied), migrations, 'Postgres');
    for (const migration of migrations) {
      if (applied.has(migration.version)) continue;
      await tx.unsafe(migration.sql);
      await tx`insert into schema_migrations (folder, version, name) values (${folder}, ${migration.version}, ${migration.name})`;
    }
  });
}
