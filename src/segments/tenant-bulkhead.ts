import { ApiError } from '../errors.ts';
import { Bulkhead } from '../platform/bulkhead.ts';
import { TooBusy } from '../platform/fair-queue.ts';

/** How many requests of one tenant refresh at once, unless its owner says otherwise: half of the sessions for requests. */
const MAX_PER_TENANT = 2;
/** How many more of its requests wait for these, and for how long. */
const WAITING = { max_waiting: 50, max_wait_ms: 20_000 };
const RETRY_AFTER_S = 5;

/**
 * Bounds how many requests of one tenant use the sessions for requests, or wait for them, in this process: each may hold one
 * for 20 s and longer, so a tenant that refreshes many players at once would leave none to others.
 */
export class TenantBulkhead {
  readonly #what: string;
  readonly #max: number;
  /** The tenants of which a request runs. */
  readonly #tenants = new Map<string, Bulkhead>();

  /** `what` the requests do, for messages; `max`: how many of a tenant run at once. */
  constructor(what = 'refresh segments', max = MAX_PER_TENANT) {
    this.#what = what;
    this.#max = max;
  }

  /**
   * Runs `work` once fewer than `max` of the tenant run. Rejects with SERVICE_UNAVAILABLE when too many
   * wait, or after 20 s.
   */
  async run<T>(tenant_id: string, work: () => Promise<T>): Promise<T> {
    const what = `the requests of this tenant that ${this.#what}`;
    const bulkhead = this.#tenants.get(tenant_id) ?? new Bulkhead(what, this.#max, WAITING);
    this.#tenants.set(tenant_id, bulkhead);
    const turn = bulkhead.enter();
    if (turn !== undefined) await turn.catch((cause: unknown) => this.#refuse(cause));
    try {
      return await work();
    } finally {
      bulkhead.leave();
      if (bulkhead.isIdle) this.#tenants.delete(tenant_id);
    }
  }

  #refuse(cause: unknown): never {
    if (!(cause instanceof TooBusy)) throw cause;
    const message = `${this.#max} requests of this tenant that ${this.#what} are running, and others wait: try again when they have ended`;
    throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: RETRY_AFTER_S, cause });
  }
}
