/** How much may wait, and for how long. */
export interface QueueLimits {
  max_waiting: number;
  /** How many of one group may wait; absent: as many as of all. */
  max_waiting_of_group?: number;
  max_wait_ms: number;
}

/** Something is used by too many at once: it was not begun, and may be tried again later. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  readonly code = 'TOO_BUSY';
}

interface Waiter<T> {
  group: string;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

/**
 * Callers that wait for a thing that is handed from one to the next. Groups of callers take turns, and within a group
 * the first to come is served first: a caller waits for one of each other group, not for all that came before.
 */
export class FairQueue<T> {
  readonly #what: string;
  readonly #limits: QueueLimits;
  /** The groups of which someone waits, in the order of their turns. */
  readonly #groups = new Map<string, Set<Waiter<T>>>();
  #waiting = 0;

  /** `what` is waited for; it is named in errors. */
  constructor(what: string, limits: QueueLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  /**
   * Resolves when it is the caller's turn. Rejects with {@link TooBusy} when too many wait, of all callers or of this
   * group, or after the longest wait. Callers that name no group are one group. `limits` replace those of the queue.
   */
  async join(group = '', limits: QueueLimits = this.#limits): Promise<T> {
    const { max_waiting, max_waiting_of_group = max_waiting, max_wait_ms } = limits;
    const others = this.#groups.get(group);
    const of_group = others?.size ?? 0;
    if (this.#waiting >= max_waiting || of_group >= max_waiting_of_group) {
      const count = of_group >= max_waiting_of_group ? of_group : this.#waiting;
      throw new TooBusy(`${count} callers wait for ${this.#what}`);
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter<T> = {
        group,
        resolve,
        reject,
        timer: setTimeout(() => {
          this.#leave(waiter);
          reject(new TooBusy(`waited ${max_wait_ms} ms for ${this.#what}`));
        }, max_wait_ms),
      };
      if (others === undefined) this.#groups.set(group, new Set([waiter]));
      else others.add(waiter);
      this.#waiting += 1;
    });
  }

  /** Whether nobody waits. */
  get isEmpty(): boolean {
    return this.#waiting === 0;
  }

  /** Gives `value` to the first of the next group that may have it; false when none of them waits. */
  serve(value: T, mayHave: (group: string) => boolean = () => true): boolean {
    for (const [group, waiters] of this.#groups) {
      const [first] = waiters;
      if (first === undefined || !mayHave(group)) continue;
      this.#leave(first);
      // Its group waits for its next turn behind all others.
      if (this.#groups.delete(group)) this.#groups.set(group, waiters);
      first.resolve(value);
      return true;
    }
    return false;
  }

  /** Rejects everyone who waits. */
  refuseAll(error: Error): void {
    for (const waiter of [...this.#groups.values()].flatMap((waiters) => [...waiters])) {
      this.#leave(waiter);
      waiter.reject(error);
    }
  }

  #leave(waiter: Waiter<T>): void {
    clearTimeout(waiter.timer);
    const waiters = this.#groups.get(waiter.group);
    if (waiters?.delete(waiter) !== true) return;
    this.#waiting -= 1;
    if (waiters.size === 0) this.#groups.delete(waiter.group);
  }
}
