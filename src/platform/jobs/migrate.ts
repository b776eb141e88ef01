import { runMigrations } from 'graphile-worker';
import type { Logger } from '../logger.ts';
import { PATIENCE, repeatWhileLocked, TABLE_LOCK_MS } from '../postgres/migrate.ts';
import { connectJobs, libraryLogger } from './connections.ts';

/**
 * Brings the schema `graphile_worker` up to date. Every process does this at its start, also one that only adds jobs.
 * Waits for locked tables like the service's own migrations. Rejects when a newer version of the library has made
 * breaking changes to the schema.
 */
export async function migrateJobs(url: string, logger: Logger): Promise<void> {
  const pgPool = connectJobs(url, 1, logger, { lock_timeout: TABLE_LOCK_MS });
  try {
    await repeatWhileLocked('graphile_worker', PATIENCE, () =>
      runMigrations({ pgPool, logger: libraryLogger(logger) }),
    );
  } finally {
    await pgPool.end();
  }
}
