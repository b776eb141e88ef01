import { BoundedCache } from './bounded-cache.ts';
import { retryPauseMs, type RetrySchedule } from './retry-pause.ts';

const FAILURE_PAUSES: RetrySchedule = { first_ms: 1_000, longest_ms: 60_000 };
/** Beyond this number, the key that began longest ago is forgotten, and so may begin early. */
const MAX_KEYS = 10_000;

/** The settings of a {@link RoundRobin}. */
export interface RoundRobinOptions<Item> {
  /** The keys of an item, from its widest group to the item itself: for example tenant, project, segment. */
  keysOf: (item: Item) => readonly string[];
  /** How many items run at once: first in all, then of each key of `keysOf`. */
  max_running: readonly number[];
  /** The pauses of an item after it was served without work; absent: none. */
  idle_pauses?: RetrySchedule;
  /** The pauses of an item after it failed; absent: 1 s, 2 s … 60 s. */
  failure_pauses?: RetrySchedule;
  /** Called for each item that fails. */
  onFailure: (item: Item, error: unknown) => void;
  /** Called when an item has ended, with whether there was work; with false after a failure. */
  onEnd?: (worked: boolean) => void;
}

interface Waiting<Item> {
  item: Item;
  /** Its key in each group, the widest first; the last one is its own. */
  paths: readonly string[];
  serve: (item: Item) => Promise<boolean>;
  /** What runs of those that were offered with it. */
  running: Set<Promise<void>>;
}

/** Until `until_ms` the item does not begin; `attempt`: how often in a row it had no work, or failed. */
interface Pause {
  has_failed: boolean;
  attempt: number;
  until_ms: number;
}

/**
 * Serves items in the background, several at a time, each group within its limits. Groups take turns, and so do the
 * groups and items in them: the one that began longest ago is first. So an item or a tenant that is slow, fails, has many
 * items or always has work does not hold up others. Times are of the process's monotonic clock (`performance.now`).
 */
export class RoundRobin<Item> {
  readonly #options: RoundRobinOptions<Item>;
  #waiting: Waiting<Item>[] = [];
  readonly #running = new Set<Promise<void>>();
  /** How many run of each key of which one runs. */
  readonly #running_of = new Map<string, number>();
  /** Key → the number of its last beginning among all. */
  readonly #begun = new BoundedCache<string, number>({ max: MAX_KEYS });
  readonly #pauses = new BoundedCache<string, Pause>({ max: MAX_KEYS });
  #number = 0;

  constructor(options: RoundRobinOptions<Item>) {
    this.#options = options;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Whether no further item can begin now. */
  get isFull(): boolean {
    return this.#running.size >= (this.#options.max_running[0] ?? 0);
  }

  /**
   * These items wait now, instead of those of an earlier call that have not begun. Each begins as soon as it may run; one
   * that pauses does not begin by the end of its pause alone, but when another item ends or is offered. `serve` resolves
   * with whether there was work. Resolves when none of these items runs any more; does not reject.
   */
  offer(items: readonly Item[], serve: (item: Item) => Promise<boolean>): Promise<void> {
    const running = new Set<Promise<void>>();
    const { keysOf } = this.#options;
    this.#waiting = items.map((item) => ({ item, paths: pathsOf(keysOf(item)), serve, running }));
    this.#beginAll();
    return allEnded(running);
  }

  /** Resolves when a running item has ended; never when none runs. */
  next(): Promise<void> {
    return Promise.race(this.#running);
  }

  /** Begins nothing more; resolves when what runs has ended. */
  close(): Promise<void> {
    this.#waiting = [];
    return allEnded(this.#running);
  }

  #beginAll(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#begin(next);
    }
  }

  #next(): Waiting<Item> | undefined {
    if (this.isFull) return undefined;
    const now_ms = performance.now();
    let first: Waiting<Item> | undefined;
    for (const one of this.#waiting) {
      if (this.#mayBegin(one, now_ms) && (first === undefined || this.#isBefore(one, first))) first = one;
    }
    return first;
  }

  #mayBegin({ paths }: Waiting<Item>, now_ms: number): boolean {
    const { max_running } = this.#options;
    const has_places = paths.every(
      (path, i) => (this.#running_of.get(path) ?? 0) < (max_running[i + 1] ?? Infinity),
    );
    return has_places && (this.#pauses.peek(paths.at(-1) ?? '')?.until_ms ?? 0) <= now_ms;
  }

  #isBefore(one: Waiting<Item>, other: Waiting<Item>): boolean {
    for (const [i, path] of one.paths.entries()) {
      const difference = this.#begunOf(path) - this.#begunOf(other.paths[i]);
      if (difference !== 0) return difference < 0;
    }
    return false;
  }

  #begunOf(path = ''): number {
    return this.#begun.peek(path) ?? 0;
  }

  #begin(one: Waiting<Item>): void {
    this.#number += 1;
    for (const path of one.paths) {
      this.#begun.set(path, this.#number);
      this.#running_of.set(path, (this.#running_of.get(path) ?? 0) + 1);
    }
    const ended = this.#serve(one).then((worked) => {
      this.#running.delete(ended);
      one.running.delete(ended);
      for (const path of one.paths) {
        const others = (this.#running_of.get(path) ?? 0) - 1;
        if (others > 0) this.#running_of.set(path, others);
        else this.#running_of.delete(path);
      }
      this.#beginAll();
      this.#options.onEnd?.(worked);
    });
    this.#running.add(ended);
    one.running.add(ended);
  }

  /** Never rejects. */
  async #serve({ item, paths, serve }: Waiting<Item>): Promise<boolean> {
    const { idle_pauses, failure_pauses = FAILURE_PAUSES, onFailure } = this.#options;
    const key = paths.at(-1) ?? '';
    try {
      const worked = await serve(item);
      if (worked || idle_pauses === undefined) this.#pauses.delete(key);
      else this.#pause(key, idle_pauses, false);
      return worked;
    } catch (error) {
      this.#pause(key, failure_pauses, true);
      onFailure(item, error);
      return false;
    }
  }

  #pause(key: string, schedule: RetrySchedule, has_failed: boolean): void {
    const before = this.#pauses.peek(key);
    const attempt = before?.has_failed === has_failed ? before.attempt + 1 : 1;
    const until_ms = performance.now() + retryPauseMs(schedule, { attempt });
    this.#pauses.set(key, { has_failed, attempt, until_ms });
  }
}

/** Resolves when none is left; others may be added meanwhile. */
async function allEnded(running: ReadonlySet<Promise<void>>): Promise<void> {
  while (running.size > 0) await Promise.all(running);
}

function pathsOf(keys: readonly string[]): string[] {
  return keys.map((_, i) => keys.slice(0, i + 1).join(' '));
}
