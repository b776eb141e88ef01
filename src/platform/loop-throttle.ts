import { FairQueue, type QueueLimits } from './fair-queue.ts';

/** After each piece of work the event loop is free for so many times as long as the piece took. */
const REST = 4;

/**
 * Runs pieces of work that hold the event loop for milliseconds: one at a time, with rests, so that everything else
 * that the process does has four fifths of the loop. Keys take turns, so one that always has work does not delay another.
 */
export class LoopThrottle {
  readonly #queue = new FairQueue<void>('the share of the process that this work may take', {
    max_waiting: Infinity,
    max_wait_ms: Infinity,
  });
  #is_taken = false;

  /**
   * Runs `work` when it is its turn; `limits` are about the callers of the same key. Rejects with TooBusy, or with what
   * `work` throws.
   */
  async run<T>(key: string, { max_waiting, max_wait_ms }: QueueLimits, work: () => T): Promise<T> {
    const limits = { max_waiting: Infinity, max_waiting_of_group: max_waiting, max_wait_ms };
    if (this.#is_taken) await this.#queue.join(key, limits);
    this.#is_taken = true;
    const started_ms = performance.now();
    try {
      return work();
    } finally {
      const rest_ms = (performance.now() - started_ms) * REST;
      setTimeout(() => (this.#is_taken = this.#queue.serve()), rest_ms);
    }
  }
}
