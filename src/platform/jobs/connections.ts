import { Client, Pool, type ClientConfig } from 'pg';
import type { Logger } from '../logger.ts';
import { APPLICATION } from '../postgres/pool.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** A pool of the driver that graphile-worker needs, as the user that owns the schema. */
export function connectJobs(url: string, max: number, logger: Logger): Pool {
  const pool = new Pool({ ...configOf(url), max, application_name: `${APPLICATION} jobs` });
  // Without these listeners, losing a connection would end the process; whoever used it is told by its statement.
  const lost = (error: Error) => logger.debug({ err: error }, 'a connection of the jobs was lost');
  pool.on('error', lost);
  pool.on('connect', (client) => client.on('error', lost));
  return pool;
}

/** One session with a name that others can see; `onLost` is called when it ends by itself. */
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

/** Reads `sslmode` as our other driver does, so that one URL means one thing. */
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
  };
}

function tlsOf(mode: string): NonNullable<ClientConfig['ssl']> {
  if (mode === 'disable' || mode === 'false') return false;
  if (mode === 'require' || mode === 'allow' || mode === 'prefer') return { rejectUnauthorized: false };
  return true;
}
