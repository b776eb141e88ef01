/** The most batches of one tenant, and of all, that are delivered at the same time. */
const MAX_OF_TENANT = 100;
const MAX_DELIVERIES = 1_000;

/**
 * The batches that are being delivered, by tenant. At its limit a tenant begins no further one until one has ended. At
 * the limit of all only tenants that have none begin one: the slow providers of some tenants stop no other.
 */
export class Deliveries {
  /** They never reject. */
  readonly #of_tenants = new Map<string, Set<Promise<void>>>();
  #count = 0;

  /** How many batches are being delivered. */
  get count(): number {
    return this.#count;
  }

  /** Whether the tenant may begin another one. */
  mayBegin(tenant_id: string): boolean {
    const most = this.#count < MAX_DELIVERIES ? MAX_OF_TENANT : 1;
    return (this.#of_tenants.get(tenant_id)?.size ?? 0) < most;
  }

  /** Counts a delivery of the tenant until it has ended; it must never reject. */
  add(tenant_id: string, delivered: Promise<void>): void {
    const known = this.#of_tenants.get(tenant_id);
    const of_tenant = known ?? new Set<Promise<void>>();
    if (known === undefined) this.#of_tenants.set(tenant_id, of_tenant);
    this.#count += 1;
    const ended = delivered.then(() => {
      this.#count -= 1;
      of_tenant.delete(ended);
      if (of_tenant.size === 0) this.#of_tenants.delete(tenant_id);
    });
    of_tenant.add(ended);
  }

  /** Resolves when those that are being delivered have ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#of_tenants.values()].flatMap((of_tenant) => [...of_tenant]));
  }
}
