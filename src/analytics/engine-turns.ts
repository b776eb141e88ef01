import { ApiError } from '../errors.ts';
import { Bulkhead } from '../platform/bulkhead.ts';
import type { Platform } from '../platform/platform.ts';
import type { RatePolicy } from '../platform/rate-limit/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

/** Seconds of ClickHouse that insights and effects of a tenant may use in {@link BUDGET_PERIOD_S}. */
export const BUDGET_S = 120;
export const BUDGET_PERIOD_S = 600;
/** A permit of the budget is a tenth of a second. */
const PERMIT_MS = 100;
const BUDGET: RatePolicy = {
  name: 'insights',
  per_second: ((BUDGET_S / BUDGET_PERIOD_S) * 1_000) / PERMIT_MS,
  burst: (BUDGET_S * 1_000) / PERMIT_MS,
};
/** Who asks waits this long for those before; then it is 503. A group is a tenant. */
const WAITING = { max_waiting: 200, max_waiting_of_group: 40, max_wait_ms: 20_000 };

/** What turns need. */
export type EngineTurnsDeps = Pick<Platform, 'clock' | 'rateLimiter'> & {
  clickhouse: Pick<Platform['clickhouse'], 'max_questions'>;
};

/**
 * Questions over many events take turns, so that they leave room for everybody else: half of the questions that ClickHouse
 * takes at once, one of a project at a time, and of a tenant as many seconds as its budget allows. Tenants take turns, and
 * the projects of a tenant do.
 */
export class EngineTurns {
  readonly #deps: EngineTurnsDeps;
  readonly #bulkhead: Bulkhead;
  /** By tenant, until when what it has used beyond its budget comes back, in milliseconds since the epoch. */
  readonly #owing_until_ms = new Map<string, number>();

  constructor(deps: EngineTurnsDeps) {
    this.#deps = deps;
    const max_running = Math.max(1, Math.floor(deps.clickhouse.max_questions / 2));
    this.#bulkhead = new Bulkhead('other insights', max_running, WAITING, max_running, 1);
  }

  /**
   * Does `ask` in a turn of the project, and charges its tenant for the time. Rejects with RATE_LIMITED when the tenant has
   * used its seconds, with TooBusy when too many wait, and as `ask` does.
   */
  async run<T>({ tenant_id, project_id }: ProjectRef, ask: () => Promise<T>): Promise<T> {
    await this.#bulkhead.enter(tenant_id, project_id);
    try {
      await this.#requireBudget(tenant_id);
      const begun_ms = performance.now();
      try {
        return await ask();
      } finally {
        await this.#charge(tenant_id, performance.now() - begun_ms);
      }
    } finally {
      this.#bulkhead.leave(tenant_id, project_id);
    }
  }

  async #requireBudget(tenant_id: string): Promise<void> {
    const owing_ms = (this.#owing_until_ms.get(tenant_id) ?? 0) - this.#deps.clock.now_ms();
    if (owing_ms <= 0) this.#owing_until_ms.delete(tenant_id);
    const taken = owing_ms > 0 ? undefined : await this.#deps.rateLimiter.take(BUDGET, tenant_id);
    if (taken?.allowed) return;
    const retry_after_ms = taken?.retry_after_ms ?? owing_ms;
    const message = `the insights of this tenant have used ${BUDGET_S} seconds of the engine in ${BUDGET_PERIOD_S / 60} minutes`;
    throw new ApiError('RATE_LIMITED', message, {
      retry_after_s: Math.max(1, Math.ceil(retry_after_ms / 1_000)),
    });
  }

  /** Takes what was used; the first permit was taken before. What is not there is owed by this process. */
  async #charge(tenant_id: string, used_ms: number): Promise<void> {
    const permits = Math.ceil(used_ms / PERMIT_MS) - 1;
    if (permits <= 0) return;
    const { allowed, remaining } = await this.#deps.rateLimiter.take(BUDGET, tenant_id, permits);
    if (allowed) return;
    if (remaining > 0) await this.#deps.rateLimiter.take(BUDGET, tenant_id, remaining);
    const now_ms = this.#deps.clock.now_ms();
    const begins_ms = Math.max(now_ms, this.#owing_until_ms.get(tenant_id) ?? 0);
    this.#owing_until_ms.set(tenant_id, begins_ms + ((permits - remaining) / BUDGET.per_second) * 1_000);
  }
}
