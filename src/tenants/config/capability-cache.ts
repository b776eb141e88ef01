import type { Maybe } from '../../http/auth/maybe.ts';
import { ApiError } from '../../errors.ts';
import { StaleIfErrorCache, type Load } from '../../platform/stale-if-error-cache.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { withinTime } from '../../platform/time-limit.ts';
import { findTenantMoney, type TenantMoney } from '../queries.ts';
import { selectTenantConfig } from './queries.ts';
import type { TenantConfig } from './schema.ts';
import type { Platform } from '../../platform/platform.ts';

/** NOTIFY channel; the payload is the id of a tenant whose configuration changed. */
export const TENANTS_CHANNEL = 'tenants_changed';

const TTL_MS = 30_000;
const MAX_TENANTS = 10_000;
const LOAD_LIMIT_MS = 5_000;
const RETRY_AFTER_S = 1;
/** Statements that read tenants at once: a locked table leaves connections to the look-ups of others. */
const STATEMENTS = 2;

/** A tenant's currencies and its configuration. */
export interface TenantCapability extends TenantMoney, TenantConfig {}

interface CacheOptions extends Pick<Platform, 'clock' | 'logger'> {
  /**
   * Reads a tenant's capability from Postgres; undefined when the tenant does not exist. Rejects when Postgres does not
   * answer.
   */
  load: Load<TenantCapability>;
  metrics: Pick<Metrics, 'staleAnswers'>;
}

/**
 * Caches tenants' capabilities for at most 30 s (spec part 8). A notification of a change expires the tenant's entry, so
 * no entry is older than the last notification that this process got. While Postgres does not answer, the last
 * known capability is used, for at most 15 minutes.
 */
export class TenantCapabilityCache {
  #known: StaleIfErrorCache<TenantCapability>;

  constructor({ load, clock, logger, metrics }: CacheOptions) {
    this.#known = new StaleIfErrorCache({
      name: 'tenants',
      max: MAX_TENANTS,
      fresh_ms: TTL_MS,
      load,
      clock,
      logger,
      onStale: () => metrics.staleAnswers.inc({ cache: 'tenants' }),
    });
  }

  /** Subscribes to notifications of configurations changed by other processes. */
  async follow(notifications: Notifications): Promise<void> {
    await notifications.on(
      TENANTS_CHANNEL,
      (tenant_id) => this.evict(tenant_id),
      () => this.#known.expireAll(),
    );
  }

  /**
   * Returns synchronously when cached; otherwise a promise, which rejects when the tenant does not exist, and with
   * SERVICE_UNAVAILABLE when Postgres does not answer and no capability is known.
   */
  get(tenant_id: string): Maybe<TenantCapability> {
    const known = this.#known.get(tenant_id);
    if (!(known instanceof Promise)) return known;
    return known.then((capability) => {
      if (capability === undefined) throw new Error(`tenant ${tenant_id} does not exist`);
      return capability;
    }, throwUnknown);
  }

  /**
   * Loads the entry of one tenant again at its next use; to be called after its change is committed. The old one stays
   * for the case that Postgres is lost before: it is better than a tenant whose events are refused.
   */
  evict(tenant_id: string): void {
    this.#known.expire(tenant_id);
  }
}

function throwUnknown(cause: unknown): never {
  const message = 'the configuration of the tenant cannot be read now; send the request again';
  throw new ApiError('SERVICE_UNAVAILABLE', message, { cause, retry_after_s: RETRY_AFTER_S });
}

interface OpenOptions extends Omit<CacheOptions, 'load'> {
  /** The service role, for look-ups. */
  sql: Db;
  notifications: Notifications;
}

/** Opens the cache over Postgres; one per process. */
export async function openTenantCapabilities(options: OpenOptions): Promise<TenantCapabilityCache> {
  const { sql, notifications, ...shared } = options;
  const own_sql = sql.share(STATEMENTS);
  const load = (tenant_id: string) =>
    withinTime(
      LOAD_LIMIT_MS,
      readCapability(own_sql, tenant_id),
      () => new Error(`Postgres did not read tenant ${tenant_id} within ${LOAD_LIMIT_MS} ms`),
    );
  const capabilities = new TenantCapabilityCache({ ...shared, load });
  await capabilities.follow(notifications);
  return capabilities;
}

async function readCapability(sql: Db, tenant_id: string): Promise<TenantCapability | undefined> {
  const [money, [config]] = await Promise.all([
    findTenantMoney(sql, tenant_id),
    selectTenantConfig(sql, tenant_id),
  ]);
  return money === undefined || config === undefined ? undefined : { ...money, ...config };
}
