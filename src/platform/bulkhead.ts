import { FairQueue, type QueueLimits } from './fair-queue.ts';

/** Lets at most `max_running` callers run at once; further ones wait in a {@link FairQueue}, where groups take turns, and in them their parts. */
export class Bulkhead {
  readonly #max_running: number;
  readonly #max_running_of_group: number;
  readonly #max_running_of_part: number;
  readonly #queue: FairQueue<void>;
  /** How many run, of each group and of each part of one. */
  readonly #running_of = new Map<string, number>();
  #running = 0;

  /**
   * `what` is waited for; it is named in errors. At most `max_running_of_group` callers of one group run at once, and
   * `max_running_of_part` of one part of a group.
   */
  constructor(
    what: string,
    max_running: number,
    limits: QueueLimits,
    max_running_of_group = max_running,
    max_running_of_part = max_running_of_group,
  ) {
    this.#max_running = max_running;
    this.#max_running_of_part = max_running_of_part;
    this.#max_running_of_group = max_running_of_group;
    this.#queue = new FairQueue(what, limits);
  }

  /** Whether nobody runs. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /**
   * Undefined when the caller may run now; else resolves when it may, or rejects with TooBusy. {@link leave} with the same
   * group and part must follow.
   */
  enter(group = '', part = ''): Promise<void> | undefined {
    return this.#take(group, part) ? undefined : this.#queue.join(group, undefined, part);
  }

  /** A caller of the group and part has ended: the next that waits, and whose group and part have room, runs in its place. */
  leave(group = '', part = ''): void {
    this.#count(group, part, -1);
    this.#queue.serve(undefined, (next, part_of_next) => this.#take(next, part_of_next));
  }

  #take(group: string, part: string): boolean {
    const [of_group, of_part] = keysOf(group, part).map((key) => this.#running_of.get(key) ?? 0) as [
      number,
      number,
    ];
    const is_full =
      this.#running >= this.#max_running ||
      of_group >= this.#max_running_of_group ||
      of_part >= this.#max_running_of_part;
    if (!is_full) this.#count(group, part, 1);
    return !is_full;
  }

  #count(group: string, part: string, change: 1 | -1): void {
    this.#running += change;
    for (const key of keysOf(group, part)) {
      const left = (this.#running_of.get(key) ?? 0) + change;
      if (left === 0) this.#running_of.delete(key);
      else this.#running_of.set(key, left);
    }
  }
}

/** The keys of a group and of its part, which are never equal. */
function keysOf(group: string, part: string): [group: string, part: string] {
  return [JSON.stringify([group]), JSON.stringify([group, part])];
}
