import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrateJobs } from '../../src/platform/jobs/migrate.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { migratePostgres } from '../../src/platform/postgres/migrate.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { freePort } from '../engines/free-port.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';

const CHILD = 'dist/test/engines/journey-child.js';
/** Imported before the service, it makes the process another program. */
const OTHER_PROGRAM = './dist/test/engines/programs/other.js';

/** Where the service will be, and the environment of its process. */
export interface PreparedService {
  base_url: string;
  ingest_url: string;
  internal_secret: string;
  environment: Record<string, string>;
}

/** Migrates an empty Postgres for the service without analytics, and chooses its ports. */
export async function prepareService(given: {
  sql: Db;
  url: string;
  data_dir: string;
  roles: string;
}): Promise<PreparedService> {
  const { sql, url, data_dir, roles } = given;
  await migratePostgres(sql);
  await migratePostgres(sql, 'pg-migrations/event-log');
  await migrateJobs(url, createLogger('error'));
  const [port, ingest_port] = [await freePort(), await freePort()];
  const internal_secret = randomUUID() + randomUUID();
  const environment = {
    ...NO_PROVIDERS,
    JOURNEY_POSTGRES_URL: url,
    DATA_DIR: data_dir,
    HOST: '127.0.0.1',
    PORT: String(port),
    INGEST_PORT: String(ingest_port),
    ROLES: roles,
    LOG_LEVEL: 'error',
    INTERNAL_SECRET: internal_secret,
    CREDENTIALS_KEY: 'ab'.repeat(32),
    ERASURE_KEY: 'ef'.repeat(32),
    RATE_INGEST_PER_SECOND: '1000000',
    RATE_INGEST_BURST: '1000000',
    RATE_ADMIN_PER_SECOND: '1000000',
  };
  const [base_url, ingest_url] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${ingest_port}`];
  return { base_url, ingest_url, internal_secret, environment };
}

/** A process of the service. */
export interface Child {
  kill(): Promise<void>;
}

/** Starts the service; resolves when it is ready, or after `at_most_ms`. With PROGRAM it is another program. */
export async function startChild(environment: Record<string, string>, at_most_ms?: number): Promise<Child> {
  const other = environment['PROGRAM'] === undefined ? [] : ['--import', OTHER_PROGRAM];
  const child = spawn(process.execPath, [...other, CHILD], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const early = exited.then(([code]: unknown[]) => {
    throw new Error(`the service ended with ${String(code)}; was it built?`);
  });
  early.catch(() => undefined);
  const late = at_most_ms === undefined ? [] : [sleep(at_most_ms)];
  await Promise.race([once(child.stdout, 'data'), early, ...late]);
  return {
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
