import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/platform/clock.ts';
import { openPostgresLog } from '../../src/platform/event-log/postgres-log.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded-server.ts';
import { migratePostgres } from '../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { LogFixture } from './event-log.contract.ts';

const logger = createLogger('silent');

/** Logs in a Postgres of their own. */
export const startEmbeddedLog = async (): Promise<LogFixture> => {
  const dir = await mkdtemp(join(tmpdir(), 'test-log-'));
  let server = await startEmbeddedPostgres({ dir });
  const { url, port } = server;
  const owner = connectPool(url);
  await migratePostgres(owner, 'pg-migrations/event-log');
  await owner.end();
  return {
    async open() {
      const sql = connectPool(url);
      const log = await openPostgresLog({ sql, logger, clock: systemClock, partitions: 4 });
      return {
        ...log,
        async close() {
          await log.close();
          await sql.end({ timeout: 5 });
        },
      };
    },
    child_environment: { LOG_POSTGRES_URL: url },
    async setAvailable(available) {
      if (available) server = await startEmbeddedPostgres({ dir, port });
      else await server.stop();
    },
    async stop() {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
};
