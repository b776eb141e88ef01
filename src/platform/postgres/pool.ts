import postgres, { type PendingQuery, type Row } from 'postgres';
import { isUuid } from '../ids.ts';
import type { Db, Postgres, Tx } from './port.ts';

/** The first word of our sessions' application_name. */
export const APPLICATION = 'engagement';

const POOL_SIZE = 10;
const CONNECT_TIMEOUT_S = 10;
const IDLE_TIMEOUT_S = 300;

interface PoolOptions {
  /** Taken on at connection start; it must have been granted to the URL's user (migration 001 does). */
  role?: string;
  max?: number;
  /**
   * For processors, whose statements look up keys by the thousand: they go by the index, also where a plan was
   * made while the table was empty and a scan seemed as good.
   */
  for_key_batches?: boolean;
}

/**
 * A pool of connections on which every 64-bit integer arrives as `bigint`.
 */
export function connectPool(url: string, options: PoolOptions = {}): Db {
  return postgres(url, {
    max: options.max ?? POOL_SIZE,
    connect_timeout: CONNECT_TIMEOUT_S,
    idle_timeout: IDLE_TIMEOUT_S,
    onnotice: () => undefined,
    types: { bigint: postgres.BigInt },
    connection: {
      application_name: `${APPLICATION} ${options.role ?? 'owner'}`,
      TimeZone: 'UTC',
      ...settingsOf(options),
    },
  });
}

/** Opens the two pools behind {@link Postgres}; the schema must have been migrated. */
export function openPostgres(url: string): Postgres {
  const api = connectPool(url, { role: 'engagement_api' });
  const service = connectPool(url, { role: 'engagement_service', for_key_batches: true });
  return {
    service,
    asTenant<T>(tenant_id: string, work: (tx: Tx) => Promise<T>): Promise<T> {
      if (!isUuid(tenant_id)) throw new TypeError('tenant_id must be a UUID');
      return api.begin((tx) => {
        // Not awaited: it travels with the first statements of `work`. postgres.js rolls back if it fails.
        void tx`select set_config('app.tenant_id', ${tenant_id}, true)`.execute();
        return work(tx);
      }) as Promise<T>;
    },
    async ping() {
      await service`select 1`;
    },
    readAsTenant: (tenant_id, statement) => readInOneTrip(api, tenant_id, statement),
    async close() {
      await Promise.all([api.end({ timeout: 5 }), service.end({ timeout: 5 })]);
    },
  };
}

/**
 * `begin`, the tenant, the statement and `commit`, sent without waiting in between. When the statement fails,
 * `commit` ends the transaction all the same; a connection that broke is the pool's to replace.
 */
async function readInOneTrip<Result extends Row>(
  api: Db,
  tenant_id: string,
  statement: (tx: Tx) => PendingQuery<Result[]>,
): Promise<Result[]> {
  if (!isUuid(tenant_id)) throw new TypeError('tenant_id must be a UUID');
  const connection = await api.reserve();
  const begun = connection
    .unsafe(`begin read only; set local app.tenant_id = '${tenant_id}'`)
    .simple()
    .execute();
  const asked = statement(connection).execute();
  const ended = connection.unsafe('commit').simple().execute();
  const [begin, answer, end] = await Promise.allSettled([begun, asked, ended]);
  if (end.status === 'fulfilled') connection.release();
  for (const outcome of [begin, answer, end]) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
  return (answer as PromiseFulfilledResult<Result[]>).value;
}

function settingsOf({ role, for_key_batches }: PoolOptions): { options?: string } {
  const settings = [
    ...(role === undefined ? [] : [`-c role=${role}`]),
    ...(for_key_batches === true ? ['-c enable_seqscan=off'] : []),
  ];
  return settings.length === 0 ? {} : { options: settings.join(' ') };
}
