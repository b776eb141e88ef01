import { withinTime } from '../time-limit.ts';
import { FairQueue } from '../fair-queue.ts';
import type { ClickHouse } from './port.ts';

const MAX_WAITING = 1_000;
/** How long a close waits for statements that run; the engine then ends them by itself. */
const CLOSE_MS = 10_000;

/**
 * Sessions of the embedded engine that take statements one at a time each. Who finds none free waits here: a statement that
 * waits inside of the engine would keep a thread of Node's pool.
 */
export class Sessions {
  readonly #all: readonly ClickHouse[];
  readonly #free: ClickHouse[];
  readonly #line: FairQueue<ClickHouse>;
  readonly #running = new Set<Promise<unknown>>();
  #is_closed = false;

  /** A statement waits `max_wait_ms` at most: longer than others should run. */
  constructor(sessions: readonly ClickHouse[], max_wait_ms: number) {
    this.#line = new FairQueue('the embedded ClickHouse', { max_waiting: MAX_WAITING, max_wait_ms });
    this.#all = sessions;
    this.#free = [...sessions];
  }

  /**
   * Runs `work` on a session that does nothing else meanwhile. Tenants take turns: `params` are those of the statement, and
   * their `tenant_id` is the tenant. Rejects with TooBusy when `work` was not begun.
   */
  async run<T>(
    params: Record<string, unknown> | undefined,
    work: (session: ClickHouse) => Promise<T>,
  ): Promise<T> {
    if (this.#is_closed) throw closed();
    const tenant_id = params?.['tenant_id'];
    const session =
      this.#free.pop() ?? (await this.#line.join(typeof tenant_id === 'string' ? tenant_id : undefined));
    // It may have been closed between the turn and this line.
    if (this.#is_closed) throw closed();
    const running = work(session);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      if (!this.#line.serve(session)) this.#free.push(session);
    }
  }

  /** Refuses what waits, waits for what runs (10 s at most), and closes the sessions. */
  async close(): Promise<void> {
    this.#is_closed = true;
    this.#line.refuseAll(closed());
    await withinTime(CLOSE_MS, Promise.allSettled(this.#running)).catch(() => undefined);
    for (const session of this.#all) await session.close();
  }
}

function closed(): Error {
  return new Error('the embedded ClickHouse is closed');
}
