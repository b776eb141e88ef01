import { ApiError } from '../errors.ts';

/** How many requests of one tenant refresh at once: half of the sessions for requests. */
const MAX_PER_TENANT = 2;
const RETRY_AFTER_S = 5;

/**
 * Bounds how many requests of one tenant use the sessions for requests, or wait for them, in this process: each may hold one
 * for 20 s and longer, so a tenant that refreshes many players at once would leave none to others.
 */
export class RequestTurns {
  readonly #running = new Map<string, number>();

  /** Runs `work`. Rejects with SERVICE_UNAVAILABLE, without waiting, while {@link MAX_PER_TENANT} of the tenant run. */
  async run<T>(tenant_id: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(tenant_id) ?? 0;
    if (running >= MAX_PER_TENANT) {
      const message = `${running} requests that refresh segments of this tenant are running: try again when one has ended`;
      throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: RETRY_AFTER_S });
    }
    this.#running.set(tenant_id, running + 1);
    try {
      return await work();
    } finally {
      const left = (this.#running.get(tenant_id) ?? 1) - 1;
      if (left > 0) this.#running.set(tenant_id, left);
      else this.#running.delete(tenant_id);
    }
  }
}
