import { setTimeout as sleep } from 'node:timers/promises';
import { identityKeyOf } from '../ingest/events/envelope.ts';
import { lagTo, captureHighWatermark, type HighWatermark } from '../platform/event-log/high-watermark.ts';
import type { EventLog } from '../platform/event-log/port.ts';
import { groupBy } from '../platform/group-by.ts';
import { OFFSET_STORES } from '../platform/event-log/position-queries.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Db } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { Platform } from '../platform/platform.ts';
import { selectIdsOf, type AddressedPlayer } from './fence-queries.ts';

/** What the fence needs of the platform. */
export type FenceDeps = Pick<Platform, 'eventLog' | 'postgres' | 'clock'> & {
  metrics: Pick<Metrics, 'fenceWait'>;
};

/** The fold lags tens of milliseconds; a caller that waits for it holds up what it would send. */
const POLL_MS = 5;
/** For so long callers do not wait for a partition that was behind for longer than their patience. */
const SLOW_FOR_MS = 2_000;

/** The end of the topic `events` at a moment. */
export interface FenceMark extends HighWatermark {
  /** Every event that was accepted before this moment is covered. */
  noted_at: Date;
}

/**
 * Makes sure that what players asked for, such as a self-exclusion, is in Postgres before a message, a webhook or a grant is
 * decided: it notes the end of the event log and waits until the fold has passed it. The events of a player are in the
 * partitions of the player's ids, so a decision waits for these partitions only, and a message also for those of others
 * with the same address. While the fold is far behind in one partition, because a tenant imports its history, players of
 * other partitions do not wait.
 */
export class Fence {
  readonly #deps: FenceDeps;
  readonly #log: { eventLog: EventLog; sql: Db };
  /** Partition → until when batches do not wait for it (`performance.now`). */
  readonly #slow = new Map<number, number>();

  constructor(deps: FenceDeps) {
    this.#deps = deps;
    this.#log = { eventLog: deps.eventLog, sql: deps.postgres.service };
  }

  /** Notes the present end of the event log. Call it before the ids of players are read and the gate decides. */
  async note(): Promise<FenceMark> {
    const noted_at = new Date(this.#deps.clock.now_ms());
    return { noted_at, ...(await captureHighWatermark(this.#log, OFFSET_STORES.fold)) };
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
    const since_ms = performance.now();
    for (;;) {
      stop?.throwIfAborted();
      const behind = await this.behind(mark);
      const missing = new Set([...behind].filter((partition) => partitions.has(partition)));
      const waited_ms = performance.now() - since_ms;
      if (missing.size === 0 || waited_ms >= wait_ms) {
        this.#deps.metrics.fenceWait.observe(waited_ms / 1_000);
        return missing;
      }
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
    const behind = await this.behind(mark);
    for (const partition of this.#slow.keys()) if (!behind.has(partition)) this.#slow.delete(partition);
    return behind;
  }

  /** The players who may have events in partitions that are `behind`, not folded yet; each has its present id. */
  async heldBack(
    mark: FenceMark,
    behind: ReadonlySet<number>,
    players: readonly (ProjectRef & { player_id: string })[],
  ): Promise<Set<string>> {
    const held = new Set<string>();
    if (behind.size === 0) return held;
    const keyOf = ({ tenant_id, project_id }: ProjectRef) => `${tenant_id} ${project_id}`;
    for (const of_project of groupBy(players, keyOf).values()) {
      const [project] = of_project;
      if (project === undefined) continue;
      const player_ids = [...new Set(of_project.map(({ player_id }) => player_id))];
      for (const { player_id, ids } of await selectIdsOf(this.#log.sql, project, player_ids)) {
        if ([...this.partitionsOf(mark, project, ids)].some((one) => behind.has(one))) held.add(player_id);
      }
    }
    return held;
  }

  /** The partitions that the fold has not applied up to the mark; all of them when its positions prove nothing. */
  async behind(mark: FenceMark): Promise<Set<number>> {
    const { records, reason } = await lagTo(this.#log, OFFSET_STORES.fold, mark);
    return new Set(reason === undefined ? records.keys() : mark.ends.keys());
  }
}
