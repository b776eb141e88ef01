import { ApiError } from '../errors.ts';
import { Bulkhead } from '../platform/bulkhead.ts';
import { TooBusy } from '../platform/fair-queue.ts';

/** How many requests of one tenant refresh at once: half of the sessions for requests. */
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
  /** The tenants of which a request runs. */
  readonly #tenants = new Map<string, Bulkhead>();

  /** `what` the requests do, for messages. */
  constructor(what = 'refresh segments') {
    this.#what = what;
  }

  /**
   * Runs `work` once fewer than {@link MAX_PER_TENANT} of the tenant run. Rejects with SERVICE_UNAVAILABLE when too many
   * wait, or after 20 s.
   */
  async run<T>(tenant_id: string, work: () => Promise<T>): Promise<T> {
    const what = `the requests of this tenant that ${this.#what}`;
    const bulkhead = this.#tenants.get(tenant_id) ?? new Bulkhead(what, MAX_PER_TENANT, WAITING);
    this.#tenants.set(tenant_id, bulkhead);
    const turn = bulkhead.enter();
    if (turn !== undefined) await turn.catch((cause: unknown) => refuse(this.#what, cause));
    try {
      return await work();
    } finally {
      bulkhead.leave();
      if (bulkhead.isIdle) this.#tenants.delete(tenant_id);
    }
  }
}

function refuse(what: string, cause: unknown): never {
  if (!(cause instanceof TooBusy)) throw cause;
  const message = `${MAX_PER_TENANT} requests of this tenant that ${what} are running, and others wait: try again when they have ended`;
  throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: RETRY_AFTER_S, cause });
}
