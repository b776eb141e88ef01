import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { packageRoot } from '../../src/package-root.ts';
import { migratePostgres } from '../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { openTestPostgres } from '../engines/wiring.ts';

/** A database of an earlier version. */
export interface EarlierSchema {
  sql: Db;
  /** Applies the migrations that came later. */
  upgrade(): Promise<void>;
  close(): Promise<void>;
}

/** Makes a database as it was before the migration of this number. */
export async function openEarlierSchema(number: number): Promise<EarlierSchema> {
  const server = await openTestPostgres();
  const sql = connectPool(server.url);
  // The migrations up to that schema, under the name of all: the later ones are applied on top of it.
  await mkdir(join(packageRoot, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(packageRoot, '.cache', 'migrations-'));
  for (const name of await readdir(join(packageRoot, 'pg-migrations'))) {
    if (/^\d{3}_/.test(name) && Number(name.slice(0, 3)) < number)
      await cp(join(packageRoot, 'pg-migrations', name), join(folder, name));
  }
  const before = relative(packageRoot, folder);
  await migratePostgres(sql, before);
  return {
    sql,
    async upgrade() {
      await sql`update schema_migrations set folder = 'pg-migrations' where folder = ${before}`;
      await migratePostgres(sql);
    },
    async close() {
      await sql.end({ timeout: 5 });
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
