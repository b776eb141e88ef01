import { Logger as LibraryLogger } from 'graphile-worker';
import { Client, Pool, type ClientConfig } from 'pg';
import type { Logger } from '../logger.ts';
import { PROCESSORS } from '../postgres/limits.ts';
import { APPLICATION, DEAD_PEER } from '../postgres/pool.ts';

const CONNECT_TIMEOUT_MS = 10_000;

type Limits = Pick<
  ClientConfig,
  'statement_timeout' | 'lock_timeout' | 'idle_in_transaction_session_timeout'
>;

/** For the library's own statements; the jobs themselves use the pools of the service. */
export const JOB_LIMITS: Limits = {
  statement_timeout: PROCESSORS.statement_ms,
  lock_timeout: PROCESSORS.lock_ms,
  idle_in_transaction_session_timeout: PROCESSORS.idle_in_transaction_ms,
};

/** A pool of `pg`, the driver that graphile-worker needs. It connects as the user that owns the schema. */
export function connectJobs(url: string, max: number, logger: Logger, limits: Limits): Pool {
  const pool = new Pool({ ...configOf(url), ...limits, max, application_name: `${APPLICATION} jobs` });
  // Without these listeners, a lost connection would end the process. The statement that used the connection rejects.
  const lost = (error: Error) => logger.debug({ err: error }, 'a connection of the jobs was lost');
  pool.on('error', lost);
  pool.on('connect', (client) => client.on('error', lost));
  return pool;
}

/**
 * Opens one session whose `application_name` other sessions can see in `pg_stat_activity`. `onLost` is called when the
 * connection fails.
 */
export async function connectSession(
  url: string,
  application_name: string,
  onLost: () => void,
): Promise<Client> {
  const client = new Client({ ...configOf(url), application_name });
  client.on('error', onLost);
  await client.connect();
  return client;
}

/** Reads `sslmode` in the same way as the driver `postgres`, so that one URL means the same to both drivers. */
function configOf(url: string): ClientConfig {
  const address = new URL(url);
  const mode = address.searchParams.get('sslmode') ?? address.searchParams.get('ssl') ?? 'disable';
  address.searchParams.delete('sslmode');
  address.searchParams.delete('ssl');
  return {
    connectionString: address.href,
    ssl: tlsOf(mode),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    options: DEAD_PEER,
  };
}

function tlsOf(mode: string): NonNullable<ClientConfig['ssl']> {
  if (mode === 'disable' || mode === 'false') return false;
  if (mode === 'require' || mode === 'allow' || mode === 'prefer') return { rejectUnauthorized: false };
  return true;
}

/**
 * Writes graphile-worker's messages to our log: its errors and warnings at level `warn`, its `info` at level `debug`.
 * Messages about failed jobs are dropped, because the worker reports those itself; and the advice to have a connection for
 * each job, because jobs use the service's pools.
 */
export function libraryLogger(logger: Logger): LibraryLogger {
  return new LibraryLogger(() => (level, message, meta) => {
    if (meta?.['failure'] === true || meta?.['concurrency'] !== undefined) return;
    const error = meta?.['error'];
    const fields = error === undefined ? {} : { err: error };
    const text = `jobs: ${message}`;
    const severity: string = level;
    if (severity === 'error' || severity === 'warning') logger.warn(fields, text);
    else if (severity === 'info') logger.debug(fields, text);
  });
}
