import { ApiError } from '../errors.ts';
import { TooBusy, WaitingLine } from '../platform/waiting-line.ts';

/** How many requests of one tenant refresh at once: half of the sessions for requests. */
const MAX_PER_TENANT = 2;
/** How many more of its requests wait for these, and for how long. */
const WAITING = { max_waiting: 50, max_wait_ms: 20_000 };
const RETRY_AFTER_S = 5;

interface Turns {
  running: number;
  line: WaitingLine<void>;
}

/**
 * Bounds how many requests of one tenant use the sessions for requests, or wait for them, in this process: each may hold one
 * for 20 s and longer, so a tenant that refreshes many players at once would leave none to others.
 */
export class RequestTurns {
  readonly #what: string;
  /** The tenants of which a request runs. */
  readonly #tenants = new Map<string, Turns>();

  /** `what` the requests do, for messages. */
  constructor(what = 'refresh segments') {
    this.#what = what;
  }

  /**
   * Runs `work` once fewer than {@link MAX_PER_TENANT} of the tenant run. Rejects with SERVICE_UNAVAILABLE when too many
   * wait, or after 20 s.
   */
  async run<T>(tenant_id: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#turnsOf(tenant_id);
    if (turns.running >= MAX_PER_TENANT)
      await turns.line.join().catch((cause: unknown) => refuse(this.#what, cause));
    else turns.running += 1;
    try {
      return await work();
    } finally {
      // A request that waits takes the place over.
      if (!turns.line.serve()) turns.running -= 1;
      if (turns.running === 0) this.#tenants.delete(tenant_id);
    }
  }

  #turnsOf(tenant_id: string): Turns {
    let turns = this.#tenants.get(tenant_id);
    if (turns === undefined) {
      const line = new WaitingLine<void>(`the requests of this tenant that ${this.#what}`, WAITING);
      turns = { running: 0, line };
      this.#tenants.set(tenant_id, turns);
    }
    return turns;
  }
}

function refuse(what: string, cause: unknown): never {
  if (!(cause instanceof TooBusy)) throw cause;
  const message = `${MAX_PER_TENANT} requests of this tenant that ${what} are running, and others wait: try again when they have ended`;
  throw new ApiError('SERVICE_UNAVAILABLE', message, { retry_after_s: RETRY_AFTER_S, cause });
}
