import type { Clock } from '../../platform/clock.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { readThresholds, type TenantThresholds } from './queries.ts';

/** NOTIFY channel; the payload is the id of a tenant whose tiers changed. */
export const TIERS_CHANNEL = 'vip_tiers';

/** What was read is used for at most this long, also where a notification was lost. */
export const THRESHOLDS_FOR_MS = 30_000;
/** Beyond this number everything known is forgotten: the cache stays small. */
const MAX_TENANTS = 10_000;

interface Known {
  value: TenantThresholds | undefined;
  until_ms: number;
}

/** Gives the thresholds of tenants to those who change totals. */
export interface Thresholds {
  /** The thresholds of those of these tenants that have active tiers. Rejects when Postgres does not answer. */
  of(tenant_ids: readonly string[]): Promise<ReadonlyMap<string, TenantThresholds>>;
}

/**
 * The thresholds of all tenants that this process meets. A change of tiers is known here after its notification, else
 * after 30 s; who changes tiers has the players looked at once more after that time (`src/players/tiers`).
 */
export class ThresholdCache implements Thresholds {
  #sql: Db;
  #clock: Clock;
  #known = new Map<string, Known>();
  /** Grows with each change of which this process was notified: what was read before is not kept. */
  #changes = 0;

  constructor({ sql, clock }: { sql: Db; clock: Clock }) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** Subscribes to changes of tiers. */
  async follow(notifications: Notifications): Promise<void> {
    const forget = (forgetThem: () => void) => {
      this.#changes++;
      forgetThem();
    };
    await notifications.on(
      TIERS_CHANNEL,
      (tenant_id) => forget(() => this.#known.delete(tenant_id)),
      () => forget(() => this.#known.clear()),
    );
  }

  async of(tenant_ids: readonly string[]): Promise<ReadonlyMap<string, TenantThresholds>> {
    const now_ms = this.#clock.now_ms();
    const found = new Map<string, TenantThresholds>();
    const unknown: string[] = [];
    for (const tenant_id of tenant_ids) {
      const known = this.#known.get(tenant_id);
      if (known === undefined || known.until_ms <= now_ms) unknown.push(tenant_id);
      else if (known.value !== undefined) found.set(tenant_id, known.value);
    }
    if (unknown.length === 0) return found;
    const changes = this.#changes;
    const read = await readThresholds(this.#sql, unknown);
    for (const [tenant_id, value] of read) found.set(tenant_id, value);
    if (changes !== this.#changes) return found;
    if (this.#known.size + unknown.length > MAX_TENANTS) this.#known.clear();
    const until_ms = now_ms + THRESHOLDS_FOR_MS;
    for (const tenant_id of unknown) this.#known.set(tenant_id, { value: read.get(tenant_id), until_ms });
    return found;
  }
}
