import { FairQueue, type QueueLimits } from './fair-queue.ts';

/** Lets at most `max_running` callers run at once; further ones wait in a {@link FairQueue}, where groups take turns. */
export class Bulkhead {
  readonly #max_running: number;
  readonly #max_running_of_group: number;
  readonly #queue: FairQueue<void>;
  /** How many run, of each group. */
  readonly #running_of = new Map<string, number>();
  #running = 0;

  /** `what` is waited for; it is named in errors. At most `max_running_of_group` callers of one group run at once. */
  constructor(what: string, max_running: number, limits: QueueLimits, max_running_of_group = max_running) {
    this.#max_running = max_running;
    this.#max_running_of_group = max_running_of_group;
    this.#queue = new FairQueue(what, limits);
  }

  /** Whether nobody runs. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /**
   * Undefined when the caller may run now; else resolves when it may, or rejects with TooBusy. {@link leave} with the same
   * group must follow.
   */
  enter(group = ''): Promise<void> | undefined {
    return this.#take(group) ? undefined : this.#queue.join(group);
  }

  /** A caller of the group has ended: the next that waits, and whose group has room, runs in its place. */
  leave(group = ''): void {
    this.#count(group, -1);
    this.#queue.serve(undefined, (next) => this.#take(next));
  }

  #take(group: string): boolean {
    const of_group = this.#running_of.get(group) ?? 0;
    if (this.#running >= this.#max_running || of_group >= this.#max_running_of_group) return false;
    this.#count(group, 1);
    return true;
  }

  #count(group: string, change: 1 | -1): void {
    this.#running += change;
    const left = (this.#running_of.get(group) ?? 0) + change;
    if (left === 0) this.#running_of.delete(group);
    else this.#running_of.set(group, left);
  }
}
