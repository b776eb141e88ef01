import postgres from 'postgres';
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
    async close() {
      await Promise.all([api.end({ timeout: 5 }), service.end({ timeout: 5 })]);
    },
  };
}

function settingsOf({ role, for_key_batches }: PoolOptions): { options?: string } {
  const settings = [
    ...(role === undefined ? [] : [`-c role=${role}`]),
    ...(for_key_batches === true ? ['-c enable_seqscan=off'] : []),
  ];
  return settings.length === 0 ? {} : { options: settings.join(' ') };
}
