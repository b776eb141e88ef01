import { TooBusy, type WaitingLimits } from './waiting-line.ts';

/** How items are taken together. */
export interface LotLimits {
  max_items: number;
  /** Lots of one key that run beside each other. */
  max_running: number;
  /** A further lot of a key begins beside one that has run for so long. */
  beside_after_ms: number;
  /** For items that wait for their lot to begin; a group is what `add` names as one. */
  waiting: WaitingLimits;
}

/** Says what an item has come to, once its lot is over: returns it, or throws. */
export type Settle<Result> = () => Result | Promise<Result>;

/**
 * Runs a lot of the group: takes the items when it begins, and resolves with what each has come to, in their order. A
 * rejection is that of every item; items that were not taken until then are refused, too.
 */
export type RunLot<Item, Result> = (group: string, take: () => Item[]) => Promise<Settle<Result>[]>;

interface Waiter<Item, Result> {
  item: Item;
  resolve: (result: Result | Promise<Result>) => void;
  reject: (error: unknown) => void;
  timer: NodeJS.Timeout;
}

interface Queue<Item, Result> {
  key: string;
  group: string;
  waiters: Set<Waiter<Item, Result>>;
  running: number;
  last_begin_ms: number;
  /** Begins a lot beside one that takes long. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * Work on items of one key that come while other work on the key is under way is done together, when that has ended. So
 * nothing waits without need: the first item of an idle key is begun at once, alone.
 */
export class Lots<Item, Result> {
  readonly #what: string;
  readonly #limits: LotLimits;
  readonly #run: RunLot<Item, Result>;
  readonly #queues = new Map<string, Queue<Item, Result>>();
  readonly #waiting_of_group = new Map<string, number>();
  #waiting = 0;

  /** `what` is waited for; it is named in errors. */
  constructor(what: string, limits: LotLimits, run: RunLot<Item, Result>) {
    this.#what = what;
    this.#limits = limits;
    this.#run = run;
  }

  /**
   * Resolves with what the item has come to. `key` belongs to one `group`. Rejects with {@link TooBusy} when too many
   * items wait, of all or of the group, or after the longest wait.
   */
  async add(key: string, group: string, item: Item): Promise<Result> {
    const { max_waiting, max_waiting_of_group = max_waiting, max_wait_ms } = this.#limits.waiting;
    if (this.#waiting >= max_waiting) throw new TooBusy(`${max_waiting} items wait for ${this.#what}`);
    if ((this.#waiting_of_group.get(group) ?? 0) >= max_waiting_of_group)
      throw new TooBusy(`${max_waiting_of_group} items of one group wait for ${this.#what}`);
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(key) ?? this.#open(key, group);
      const timer = setTimeout(() => {
        this.#leave(queue, waiter);
        this.#close(queue);
        reject(new TooBusy(`waited ${max_wait_ms} ms for ${this.#what}`));
      }, max_wait_ms);
      const waiter = { item, resolve, reject, timer };
      queue.waiters.add(waiter);
      this.#waiting++;
      this.#waiting_of_group.set(group, (this.#waiting_of_group.get(group) ?? 0) + 1);
      this.#begin(queue);
    });
  }

  #open(key: string, group: string): Queue<Item, Result> {
    const queue = {
      key,
      group,
      waiters: new Set<Waiter<Item, Result>>(),
      running: 0,
      last_begin_ms: 0,
      timer: undefined,
    };
    this.#queues.set(key, queue);
    return queue;
  }

  #begin(queue: Queue<Item, Result>): void {
    const { max_running, beside_after_ms } = this.#limits;
    if (queue.waiters.size === 0 || queue.running >= max_running || queue.timer !== undefined) return;
    const left_ms = queue.running === 0 ? 0 : queue.last_begin_ms + beside_after_ms - performance.now();
    if (left_ms <= 0) {
      void this.#serve(queue);
      return;
    }
    queue.timer = setTimeout(() => {
      queue.timer = undefined;
      this.#begin(queue);
    }, left_ms);
  }

  async #serve(queue: Queue<Item, Result>): Promise<void> {
    queue.running++;
    queue.last_begin_ms = performance.now();
    let taken: Waiter<Item, Result>[] = [];
    let has_begun = false;
    const take = () => {
      has_begun = true;
      taken = [...queue.waiters].slice(0, this.#limits.max_items);
      for (const waiter of taken) this.#leave(queue, waiter);
      return taken.map(({ item }) => item);
    };
    try {
      const settles = await this.#run(queue.group, take);
      for (const [i, { resolve, reject }] of taken.entries()) {
        try {
          const settle = settles[i];
          if (settle === undefined) throw new Error(`a lot of ${this.#what} has left out an item`);
          resolve(settle());
        } catch (error) {
          reject(error);
        }
      }
    } catch (error) {
      if (!has_begun) take();
      for (const { reject } of taken) reject(error);
    } finally {
      queue.running--;
      clearTimeout(queue.timer);
      queue.timer = undefined;
      this.#begin(queue);
      this.#close(queue);
    }
  }

  #leave({ group, waiters }: Queue<Item, Result>, waiter: Waiter<Item, Result>): void {
    clearTimeout(waiter.timer);
    if (!waiters.delete(waiter)) return;
    this.#waiting--;
    const left = (this.#waiting_of_group.get(group) ?? 0) - 1;
    if (left > 0) this.#waiting_of_group.set(group, left);
    else this.#waiting_of_group.delete(group);
  }

  #close({ key, waiters, running }: Queue<Item, Result>): void {
    if (waiters.size === 0 && running === 0) this.#queues.delete(key);
  }
}
