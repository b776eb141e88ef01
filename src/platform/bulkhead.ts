import { FairQueue, type QueueLimits } from './fair-queue.ts';

/** Lets at most `max_running` callers run at once; further ones wait in a {@link FairQueue}, where groups take turns. */
export class Bulkhead {
  readonly #max_running: number;
  readonly #queue: FairQueue<void>;
  #running = 0;

  /** `what` is waited for; it is named in errors. */
  constructor(what: string, max_running: number, limits: QueueLimits) {
    this.#max_running = max_running;
    this.#queue = new FairQueue(what, limits);
  }

  /** Whether nobody runs. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Undefined when the caller may run now; else resolves when it may, or rejects with TooBusy. {@link leave} must follow. */
  enter(group?: string): Promise<void> | undefined {
    if (this.#running >= this.#max_running) return this.#queue.join(group);
    this.#running++;
    return undefined;
  }

  /** A caller has ended: the next that waits runs in its place. */
  leave(): void {
    if (!this.#queue.serve()) this.#running--;
  }
}
