import { BoundedCache } from '../../platform/bounded-cache.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { Fence, type FenceDeps, type FenceMark } from '../../protection/fence.ts';
import { selectAddressed } from '../../protection/fence-queries.ts';
import { selectDueMessages, type SendQueue } from './queue-queries.ts';

/** How long every batch waits for a partition: longer than the usual lag of the fold. */
const PATIENCE_MS = 250;
/** How long a queue waits all of whose messages are behind the fence, and how many queues do so at the same time. */
const LONGEST_WAIT_MS = 10_000;
const MAX_WAITING = 4;
/** Due messages read at once, and the most pages of them per batch. */
const PAGE = 1_000;
const MAX_PAGES = 20;
/** Queues whose place among their due messages is remembered. */
const MAX_PLACES = 10_000;

/** The fence before the messages of queues: which of them may be decided. */
export class QueueFence {
  readonly #deps: FenceDeps;
  readonly #fence: Fence;
  /** Queue → the last of its due messages that was read: the next batch reads those after it. */
  readonly #places = new BoundedCache<string, string>({ max: MAX_PLACES });
  #waiting = 0;

  constructor(deps: FenceDeps) {
    this.#deps = deps;
    this.#fence = new Fence(deps);
  }

  /**
   * Which messages of a queue may be decided: those of players whose partitions, and those of others with their address, the
   * fold has passed. Rejects when `stop` is aborted.
   */
  async pass(queue: SendQueue, stop?: AbortSignal): Promise<FencePass> {
    const mark = await this.#fence.note();
    const behind = await this.#fence.settle(mark, PATIENCE_MS, stop);
    if (behind.size === 0) return new FencePass(this.#fence, mark, behind);
    return this.#passSome(queue, mark, behind, stop);
  }

  async #passSome(
    queue: SendQueue,
    mark: FenceMark,
    behind: ReadonlySet<number>,
    stop: AbortSignal | undefined,
  ): Promise<FencePass> {
    const found = await this.#search(queue, mark, behind);
    if (found.send_ids.length > 0 || found.blocking.size === 0) {
      return new FencePass(this.#fence, mark, behind, found.send_ids);
    }
    // All are behind the fence. Few queues may wait, so that these do not take the places of others.
    if (this.#waiting >= MAX_WAITING) return new FencePass(this.#fence, mark, behind, []);
    this.#waiting += 1;
    try {
      await this.#fence.wait(mark, found.blocking, LONGEST_WAIT_MS, stop);
    } finally {
      this.#waiting -= 1;
    }
    const left = await this.#fence.behind(mark);
    if (left.size === 0) return new FencePass(this.#fence, mark, left);
    this.#places.delete(queue.queue_id);
    return new FencePass(this.#fence, mark, left, (await this.#search(queue, mark, left)).send_ids);
  }

  /**
   * Due messages of players of partitions that are not behind, at most a batch; `blocking`: the partitions of the others
   * that were read. A search that has read many messages goes on after them the next time.
   */
  async #search(
    queue: SendQueue,
    mark: FenceMark,
    behind: ReadonlySet<number>,
  ): Promise<{ send_ids: string[]; blocking: Set<number> }> {
    const { postgres, clock } = this.#deps;
    const now = new Date(clock.now_ms());
    const [send_ids, blocking] = [[] as string[], new Set<number>()];
    let after = this.#places.get(queue.queue_id) ?? NIL_ID;
    let is_end = false;
    for (let page = 0; page < MAX_PAGES && send_ids.length === 0 && !is_end; page++) {
      const due = await selectDueMessages(postgres.service, queue, now, after, PAGE);
      for (const message of due) {
        const of_address = [...this.#fence.addressPartitions(mark, queue, message)].filter((one) =>
          behind.has(one),
        );
        if (of_address.length === 0) send_ids.push(message.send_id);
        for (const partition of of_address) blocking.add(partition);
      }
      after = due.at(-1)?.send_id ?? after;
      is_end = due.length < PAGE;
    }
    if (is_end) this.#places.delete(queue.queue_id);
    else this.#places.set(queue.queue_id, after);
    return { send_ids, blocking };
  }
}

/** The outcome of {@link QueueFence.pass} for one batch. */
export class FencePass {
  readonly #fence: Fence;
  readonly #mark: FenceMark;
  readonly #behind: ReadonlySet<number>;
  /** The messages that may be decided; undefined: any of the queue. */
  readonly send_ids: readonly string[] | undefined;

  constructor(fence: Fence, mark: FenceMark, behind: ReadonlySet<number>, send_ids?: readonly string[]) {
    this.#fence = fence;
    this.#mark = mark;
    this.#behind = behind;
    this.send_ids = send_ids;
  }

  /** Every event of these messages' players that was accepted before this moment is folded. */
  get fenced_at(): Date {
    return this.#mark.noted_at;
  }

  /**
   * Whether the pass holds for players that the gate has let through. A player, or another one with the address, may have
   * got another id since the search, in a partition that is behind: then a decision must be rolled back. Call it in the
   * transaction, after the decision.
   */
  async holdsFor(tx: Tx, queue: SendQueue, player_ids: readonly string[]): Promise<boolean> {
    if (this.#behind.size === 0 || player_ids.length === 0) return true;
    const { tenant_id, project_id, channel } = queue;
    const players = await selectAddressed(tx, { tenant_id, project_id, channel }, player_ids);
    return players.every((player) =>
      [...this.#fence.addressPartitions(this.#mark, queue, player)].every((one) => !this.#behind.has(one)),
    );
  }
}
