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

/** What a tenant may do, and by which rules: its currencies and its configuration. */
export interface TenantCapability extends TenantMoney, TenantConfig {}

type LoadCapability = (tenant_id: string) => Promise<TenantCapability>;

interface CachedCapability {
  capability: TenantCapability;
  expires_at_ms: number;
}

/** What is known of tenants, at most 30 s old (spec part 8), and never older than the last change this process heard of. */
export class TenantCapabilityCache {
  #load: LoadCapability;
  #clock: Clock;
  #cache = new LRUCache<string, CachedCapability>({ max: MAX_TENANTS });
  /** Whoever asks meanwhile waits for the same answer. An eviction takes a load out: it may have read what was before. */
  #loading = new Map<string, Promise<TenantCapability>>();

  /** `load` reads a tenant's capability from Postgres and rejects when the tenant does not exist. */
  constructor(load: LoadCapability, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
  }

  /** Starts to hear of configurations changed by other processes. */
  async follow(notifications: Notifications): Promise<void> {
    await notifications.on(
      TENANTS_CHANNEL,
      (tenant_id) => this.evict(tenant_id),
      () => this.#evictAll(),
    );
  }

  /** Answers at once when known; rejects when the tenant does not exist. */
  get(tenant_id: string): Maybe<TenantCapability> {
    const cached = this.#cache.get(tenant_id);
    if (cached !== undefined && cached.expires_at_ms > this.#clock.now_ms()) return cached.capability;
    return this.#loading.get(tenant_id) ?? this.#fetch(tenant_id);
  }

  /** Forgets what is known of one tenant: to be called once its change is committed. */
  evict(tenant_id: string): void {
    this.#cache.delete(tenant_id);
    this.#loading.delete(tenant_id);
  }

  #evictAll(): void {
    this.#cache.clear();
    this.#loading.clear();
  }

  #fetch(tenant_id: string): Promise<TenantCapability> {
    // From the start of the load: the answer is as old as the moment Postgres was asked.
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
