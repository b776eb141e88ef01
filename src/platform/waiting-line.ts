/** How much may wait, and for how long. */
export interface WaitingLimits {
  max_waiting: number;
  max_wait_ms: number;
}

/** Something is used by too many at once: it was not begun, and may be tried again later. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  readonly code = 'TOO_BUSY';
}

interface Waiter<T> {
  resolve: (value: T) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

/** Callers that wait, in order of arrival, for a thing that is handed from one to the next. */
export class WaitingLine<T> {
  readonly #what: string;
  readonly #limits: WaitingLimits;
  readonly #waiting = new Set<Waiter<T>>();

  /** `what` is waited for; it is named in errors. */
  constructor(what: string, limits: WaitingLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  /** Resolves when it is the caller's turn. Rejects with {@link TooBusy} when too many wait, or after the longest wait. */
  async join(): Promise<T> {
    const { max_waiting, max_wait_ms } = this.#limits;
    if (this.#waiting.size >= max_waiting) {
      throw new TooBusy(`${max_waiting} callers wait for ${this.#what}`);
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter<T> = {
        resolve,
        reject,
        timer: setTimeout(() => {
          this.#waiting.delete(waiter);
          reject(new TooBusy(`waited ${max_wait_ms} ms for ${this.#what}`));
        }, max_wait_ms),
      };
      this.#waiting.add(waiter);
    });
  }

  /** Whether nobody waits. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Gives `value` to the first in line; false when nobody waits. */
  serve(value: T): boolean {
    const [first] = this.#waiting;
    if (first === undefined) return false;
    this.#leave(first);
    first.resolve(value);
    return true;
  }

  /** Rejects everyone who waits. */
  refuseAll(error: Error): void {
    for (const waiter of this.#waiting) {
      this.#leave(waiter);
      waiter.reject(error);
    }
  }

  #leave(waiter: Waiter<T>): void {
    clearTimeout(waiter.timer);
    this.#waiting.delete(waiter);
  }
}
