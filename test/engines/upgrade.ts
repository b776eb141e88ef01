import { migrateJobs } from '../../src/platform/jobs/migrate.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { findMigrations } from '../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { openTestPostgres } from './wiring.ts';

/** An empty database to which a test applies migrations itself, to fill it as an older version left it. */
export interface Upgraded {
  sql: Db;
  /** Applies the migrations of these versions in one transaction, as a start does. */
  migrate: (which: (version: number) => boolean) => Promise<void>;
  close: () => Promise<void>;
}

export async function openForUpgrade(database: string): Promise<Upgraded> {
  const postgres = await openTestPostgres();
  const admin = connectPool(postgres.url);
  await admin`create database ${admin(database)}`;
  await admin.end({ timeout: 5 });
  const url = postgres.url.replace(/[^/]*$/, database);
  const sql = connectPool(url);
  await migrateJobs(url, createLogger('silent'));
  return {
    sql,
    async migrate(which) {
      const files = (await findMigrations('pg-migrations')).filter(({ version }) => which(version));
      await sql.begin(async (tx) => {
        for (const file of files) await tx.unsafe(await file.sql());
      });
    },
    async close() {
      await sql.end({ timeout: 5 });
      await postgres.close();
    },
  };
}
