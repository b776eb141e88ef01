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
  part: string;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

/**
 * Callers that wait for a thing that is handed from one to the next. Groups of callers take turns, within a group its parts
 * do, and within a part the first to come is served first: a caller waits for one of each other group, not for all that came
 * before.
 */
export class FairQueue<T> {
  readonly #what: string;
  readonly #limits: QueueLimits;
  /** The groups of which someone waits, and their parts, in the order of their turns. */
  readonly #groups = new Map<string, Map<string, Set<Waiter<T>>>>();
  /** How many wait, of each group. */
  readonly #waiting_of = new Map<string, number>();
  #waiting = 0;

  /** `what` is waited for; it is named in errors. */
  constructor(what: string, limits: QueueLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  /**
   * Resolves when it is the caller's turn. Rejects with {@link TooBusy} when too many wait, of all callers or of this
   * group, or after the longest wait. Callers that name no group are one group. `limits` replace those of the queue. `part`: of
   * the group.
   */
  async join(group = '', limits: QueueLimits = this.#limits, part = ''): Promise<T> {
    const { max_waiting, max_waiting_of_group = max_waiting, max_wait_ms } = limits;
    const of_group = this.#waiting_of.get(group) ?? 0;
    if (this.#waiting >= max_waiting || of_group >= max_waiting_of_group) {
      const count = of_group >= max_waiting_of_group ? of_group : this.#waiting;
      throw new TooBusy(`${count} callers wait for ${this.#what}`);
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter<T> = {
        group,
        part,
        resolve,
        reject,
        timer: setTimeout(() => {
          this.#leave(waiter);
          reject(new TooBusy(`waited ${max_wait_ms} ms for ${this.#what}`));
        }, max_wait_ms),
      };
      const parts = this.#groups.get(group) ?? new Map<string, Set<Waiter<T>>>();
      this.#groups.set(group, parts.set(part, (parts.get(part) ?? new Set()).add(waiter)));
      this.#waiting_of.set(group, of_group + 1);
      this.#waiting += 1;
    });
  }

  /** Whether nobody waits. */
  get isEmpty(): boolean {
    return this.#waiting === 0;
  }

  /** Gives `value` to the first of the next group and part that may have it; false when none of them waits. */
  serve(value: T, mayHave: (group: string, part: string) => boolean = () => true): boolean {
    for (const [group, parts] of this.#groups) {
      for (const [part, waiters] of parts) {
        const [first] = waiters;
        if (first === undefined || !mayHave(group, part)) continue;
        this.#leave(first);
        // Its group, and in it its part, wait for their next turns behind all others.
        if (parts.delete(part)) parts.set(part, waiters);
        if (this.#groups.delete(group)) this.#groups.set(group, parts);
        first.resolve(value);
        return true;
      }
    }
    return false;
  }

  /** Rejects everyone who waits. */
  refuseAll(error: Error): void {
    const parts = [...this.#groups.values()].flatMap((of_group) => [...of_group.values()]);
    for (const waiter of parts.flatMap((waiters) => [...waiters])) {
      this.#leave(waiter);
      waiter.reject(error);
    }
  }

  #leave(waiter: Waiter<T>): void {
    clearTimeout(waiter.timer);
    const { group, part } = waiter;
    const parts = this.#groups.get(group);
    const waiters = parts?.get(part);
    if (parts === undefined || waiters?.delete(waiter) !== true) return;
    this.#waiting -= 1;
    this.#waiting_of.set(group, (this.#waiting_of.get(group) ?? 1) - 1);
    if (waiters.size === 0) parts.delete(part);
    if (parts.size > 0) return;
    this.#groups.delete(group);
    this.#waiting_of.delete(group);
  }
}
