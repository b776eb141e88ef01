import { NIL_ID } from '../../platform/ids.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import { identityKeyOf } from '../../ingest/events/envelope.ts';
import { behindEnds, noteEnds, type NotedEnds } from '../../platform/event-log/passed-ends.ts';
import type { EventLog } from '../../platform/event-log/port.ts';
import { OWNERS } from '../../platform/event-log/position-queries.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../wiring/platform.ts';
import { selectAddressed, selectDueMessages, type AddressedPlayer } from './fence-queries.ts';
import type { SendQueue } from './messenger-queries.ts';

type FenceDeps = Pick<Platform, 'eventLog' | 'postgres' | 'clock'>;

/** The fold lags tens of milliseconds; a caller that waits for it holds messages up meanwhile. */
const POLL_MS = 5;
/** How long every batch waits for a partition: longer than the usual lag of the fold. */
const PATIENCE_MS = 250;
/** For so long batches do not wait for a partition that was behind for longer than that. */
const SLOW_FOR_MS = 2_000;
/** How long a queue waits all of whose messages are behind the fence, and how many queues do so at the same time. */
const LONGEST_WAIT_MS = 10_000;
const MAX_WAITING = 4;
/** Due messages read at once, and the most pages of them per batch. */
const PAGE = 1_000;
const MAX_PAGES = 20;
/** Queues whose place among their due messages is remembered. */
const MAX_PLACES = 10_000;

/** The end of the topic `events` at a moment. */
export interface FenceMark extends NotedEnds {
  /** Every event that was accepted before this moment is covered. */
  noted_at: Date;
}

/**
 * Makes sure that what players asked for, such as a self-exclusion, is in Postgres before the gate decides: it notes
 * the end of the event log and waits until the fold has passed it. The events of a player are in the partitions of the
 * player's ids, so a message waits for these partitions only, and for those of others with the same address. While the fold is far behind in one partition, because a
 * tenant imports its history, the messages of players of other partitions go on.
 */
export class Fence {
  readonly #deps: FenceDeps;
  readonly #log: { eventLog: EventLog; sql: Db };
  /** Partition → until when batches do not wait for it (`performance.now`). */
  readonly #slow = new Map<number, number>();
  /** Queue → the last of its due messages that was read: the next batch reads those after it. */
  readonly #places = new BoundedCache<string, string>({ max: MAX_PLACES });
  #waiting = 0;

  constructor(deps: FenceDeps) {
    this.#deps = deps;
    this.#log = { eventLog: deps.eventLog, sql: deps.postgres.service };
  }

  /** Notes the present end of the event log. Call it before the ids of players are read and the gate decides. */
  async note(): Promise<FenceMark> {
    const noted_at = new Date(this.#deps.clock.now_ms());
    return { noted_at, ...(await noteEnds(this.#log, OWNERS.fold)) };
  }

  /**
   * Waits until the fold has passed the mark in these partitions; resolves with those in which it has not after
   * `wait_ms`. Rejects when `stop` is aborted.
   */
  async wait(
    mark: FenceMark,
    partitions: ReadonlySet<number>,
    wait_ms: number,
    stop?: AbortSignal,
  ): Promise<Set<number>> {
    const deadline_ms = performance.now() + wait_ms;
    for (;;) {
      stop?.throwIfAborted();
      const behind = await this.#behind(mark);
      const missing = new Set([...behind].filter((partition) => partitions.has(partition)));
      if (missing.size === 0 || performance.now() >= deadline_ms) return missing;
      await sleep(POLL_MS, undefined, { signal: stop });
    }
  }

  /** The partitions that the events of a player with these ids are in. */
  partitionsOf(
    { ends }: FenceMark,
    { project_id }: Pick<ProjectRef, 'project_id'>,
    ids: readonly string[],
  ): Set<number> {
    const { eventLog } = this.#deps;
    return new Set(ids.map((id) => eventLog.partitionOf(identityKeyOf(project_id, id), ends.size)));
  }

  /**
   * The partitions that the events of everybody are in whose address it is: an exclusion of any of them bars the address.
   * All partitions where the address is of very many.
   */
  addressPartitions(mark: FenceMark, project: ProjectRef, { ids, others }: AddressedPlayer): Set<number> {
    if (others === null) return new Set(mark.ends.keys());
    const theirs = others.flatMap((other) => [...this.partitionsOf(mark, other, other.ids)]);
    return new Set([...this.partitionsOf(mark, project, ids), ...theirs]);
  }

  /**
   * Which messages of a queue may be decided: those of players whose partitions, and those of others with their address, the fold has passed. Rejects when `stop`
   * is aborted.
   */
  async pass(queue: SendQueue, stop?: AbortSignal): Promise<FencePass> {
    const mark = await this.note();
    const behind = await this.settle(mark, PATIENCE_MS, stop);
    if (behind.size === 0) return new FencePass(this, mark, behind);
    return this.#passSome(queue, mark, behind, stop);
  }

  /**
   * Waits at most `patience_ms` until the fold has passed the mark, but not for partitions that it was far behind in a
   * short time ago; resolves with the partitions in which it has not. Rejects when `stop` is aborted.
   */
  async settle(mark: FenceMark, patience_ms: number, stop?: AbortSignal): Promise<ReadonlySet<number>> {
    const now_ms = performance.now();
    const every = [...mark.ends.keys()];
    const awaited = new Set(every.filter((partition) => (this.#slow.get(partition) ?? 0) <= now_ms));
    for (const partition of await this.wait(mark, awaited, patience_ms, stop)) {
      this.#slow.set(partition, performance.now() + SLOW_FOR_MS);
    }
    const behind = await this.#behind(mark);
    for (const partition of this.#slow.keys()) if (!behind.has(partition)) this.#slow.delete(partition);
    return behind;
  }

  /** The partitions that the fold has not applied up to the mark; all of them when its positions prove nothing. */
  async #behind(mark: FenceMark): Promise<Set<number>> {
    const { records, reason } = await behindEnds(this.#log, OWNERS.fold, mark);
    return new Set(reason === undefined ? records.keys() : mark.ends.keys());
  }

  async #passSome(
    queue: SendQueue,
    mark: FenceMark,
    behind: ReadonlySet<number>,
    stop: AbortSignal | undefined,
  ): Promise<FencePass> {
    const found = await this.#search(queue, mark, behind);
    if (found.send_ids.length > 0 || found.blocking.size === 0) {
      return new FencePass(this, mark, behind, found.send_ids);
    }
    // All are behind the fence. Few queues may wait, so that these do not take the places of others.
    if (this.#waiting >= MAX_WAITING) return new FencePass(this, mark, behind, []);
    this.#waiting += 1;
    try {
      await this.wait(mark, found.blocking, LONGEST_WAIT_MS, stop);
    } finally {
      this.#waiting -= 1;
    }
    const left = await this.#behind(mark);
    if (left.size === 0) return new FencePass(this, mark, left);
    this.#places.delete(queue.queue_id);
    return new FencePass(this, mark, left, (await this.#search(queue, mark, left)).send_ids);
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
        const of_address = [...this.addressPartitions(mark, queue, message)].filter((one) => behind.has(one));
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

/** The outcome of {@link Fence.pass} for one batch. */
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
