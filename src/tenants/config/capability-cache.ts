import { LRUCache } from 'lru-cache';
import type { Maybe } from '../../auth/maybe.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { readTenantConfig, type TenantConfig } from './read.ts';
import { readTenantMoney, type TenantMoney } from '../money-queries.ts';

/** NOTIFY channel; the payload is the id of a tenant whose configuration changed. */
export const TENANTS_CHANNEL = 'tenants_changed';

const TTL_MS = 30_000;
const MAX_TENANTS = 10_000;

/** A tenant's currencies and its configuration. */
export interface TenantCapability extends TenantMoney, TenantConfig {}

type LoadCapability = (tenant_id: string) => Promise<TenantCapability>;

interface CachedCapability {
  capability: TenantCapability;
  expires_at_ms: number;
}

/**
 * Caches tenants' capabilities for at most 30 s (spec part 8). A notification of a change evicts the tenant's entry, so
 * no entry is older than the last change of which this process was notified.
 */
export class TenantCapabilityCache {
  #load: LoadCapability;
  #clock: Clock;
  #cache = new LRUCache<string, CachedCapability>({ max: MAX_TENANTS });
  /**
   * Loads under way: concurrent callers share one. An eviction removes a load, because it may have read the values from
   * before the change; its result is then not cached.
   */
  #loading = new Map<string, Promise<TenantCapability>>();

  /** `load` reads a tenant's capability from Postgres and rejects when the tenant does not exist. */
  constructor(load: LoadCapability, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
  }

  /** Subscribes to notifications of configurations changed by other processes. */
  async follow(notifications: Notifications): Promise<void> {
    await notifications.on(
      TENANTS_CHANNEL,
      (tenant_id) => this.evict(tenant_id),
      () => this.#evictAll(),
    );
  }

  /** Returns synchronously when cached; otherwise a promise, which rejects when the tenant does not exist. */
  get(tenant_id: string): Maybe<TenantCapability> {
    const cached = this.#cache.get(tenant_id);
    if (cached !== undefined && cached.expires_at_ms > this.#clock.now_ms()) return cached.capability;
    return this.#loading.get(tenant_id) ?? this.#fetch(tenant_id);
  }

  /** Removes the entry of one tenant; to be called after its change is committed. */
  evict(tenant_id: string): void {
    this.#cache.delete(tenant_id);
    this.#loading.delete(tenant_id);
  }

  #evictAll(): void {
    this.#cache.clear();
    this.#loading.clear();
  }

  #fetch(tenant_id: string): Promise<TenantCapability> {
    // Counted from the start of the load: the values may be as old as that.
    const expires_at_ms = this.#clock.now_ms() + TTL_MS;
    const isCurrent = () => this.#loading.get(tenant_id) === loading;
    const loading = this.#load(tenant_id)
      .then((capability) => {
        if (isCurrent()) this.#cache.set(tenant_id, { capability, expires_at_ms });
        return capability;
      })
      .finally(() => {
        if (isCurrent()) this.#loading.delete(tenant_id);
      });
    this.#loading.set(tenant_id, loading);
    return loading;
  }
}

interface OpenOptions {
  clock: Clock;
  /** The service role. */
  sql: Db;
  notifications: Notifications;
}

/** Opens the cache over Postgres; one per process. */
export async function openTenantCapabilities(options: OpenOptions): Promise<TenantCapabilityCache> {
  const { clock, sql, notifications } = options;
  const load: LoadCapability = async (tenant_id) => {
    const [money, config] = await Promise.all([
      readTenantMoney(sql, tenant_id),
      readTenantConfig(sql, tenant_id),
    ]);
    return { ...money, ...config };
  };
  const capabilities = new TenantCapabilityCache(load, clock);
  await capabilities.follow(notifications);
  return capabilities;
}
