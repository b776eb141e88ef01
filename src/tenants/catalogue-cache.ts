import { LRUCache } from 'lru-cache';
import type { Postgres } from '../platform/postgres/port.ts';
import { readTenantMoney, type TenantMoney } from './money-queries.ts';

const TTL_MS = 30_000;
const MAX_TENANTS = 10_000;

/** Base currency and active currencies per tenant, at most 30 s old (spec part 8, tenant capability cache). */
export class TenantMoneyCache {
  #postgres: Postgres;
  #cache = new LRUCache<string, TenantMoney>({ max: MAX_TENANTS, ttl: TTL_MS });
  #loading = new Map<string, Promise<TenantMoney>>();

  constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  /** Answers at once when known; rejects when the tenant does not exist. */
  get(tenant_id: string): TenantMoney | Promise<TenantMoney> {
    return this.#cache.get(tenant_id) ?? this.#load(tenant_id);
  }

  #load(tenant_id: string): Promise<TenantMoney> {
    let loading = this.#loading.get(tenant_id);
    if (loading === undefined) {
      loading = readTenantMoney(this.#postgres.service, tenant_id)
        .then((money) => {
          this.#cache.set(tenant_id, money);
          return money;
        })
        .finally(() => this.#loading.delete(tenant_id));
      this.#loading.set(tenant_id, loading);
    }
    return loading;
  }
}
