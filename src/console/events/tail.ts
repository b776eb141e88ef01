import type { EventLog } from '../../platform/event-log/port.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { isOfProject } from '../../ingest/events/envelope.ts';

/** How often the log is asked for new records, while somebody watches. */
const POLL_MS = 250;
/** The last events that are kept for viewers that come again, of all projects. */
const RING_SIZE = 1_000;
/** A kept line is not longer in sum than this. */
const RING_CHARS = 16 * 1024 * 1024;
/** Records of one partition that one look reads. Beyond it those before the last ones are passed by. */
const MAX_READ = 1_000;
const READ_BATCH = 250;

/** One event as intake has accepted it. */
export interface TailEvent {
  /** Where the reader stood right after this event, in all partitions: what a viewer names to go on from there. */
  id: string;
  /** The record: an `AcceptedEvent` as JSON. */
  line: string;
}

/** What a viewer receives. It must not throw. */
export interface Viewer extends ProjectRef {
  /** From here on it receives everything; called once, before all further events. */
  ready(id: string): void;
  /** The events of its project, in order. */
  events(found: readonly TailEvent[]): void;
  /** Events may have been passed by: nobody knows how many of this project. */
  gap(): void;
}

interface Kept extends TailEvent {
  partition: number;
  offset: bigint;
}

/**
 * The one reader of accepted events that all viewers of a process share. It looks at the end of the log every
 * {@link POLL_MS}, in no consumer group, and only while somebody watches. The log's failures are logged and tried again.
 */
export class EventTail {
  readonly #options: { eventLog: Pick<EventLog, 'endOffsets' | 'read'>; logger: Logger };
  readonly #viewers = new Set<Viewer>();
  /** Those that came since the last look. */
  readonly #new_viewers = new Set<Viewer>();
  /** The next offset to read of each partition; undefined before the first look. */
  #next: Map<number, bigint> | undefined;
  #ring: Kept[] = [];
  #ring_chars = 0;
  #timer: NodeJS.Timeout | undefined;
  #is_looking = false;
  #has_failed = false;

  constructor(options: { eventLog: Pick<EventLog, 'endOffsets' | 'read'>; logger: Logger }) {
    this.#options = options;
  }

  /**
   * Tells the viewer of all further events of its project; with `last_id` first of those after it that are still known.
   * Returns what ends that.
   */
  watch(viewer: Viewer, last_id?: string): () => void {
    const positions = last_id === undefined ? undefined : positionsOf(last_id);
    if (positions === undefined && this.#viewers.size === 0 && !this.#is_looking) this.#forget();
    this.#viewers.add(viewer);
    this.#new_viewers.add(viewer);
    if (positions !== undefined) this.#resume(viewer, positions);
    if (!this.#is_looking) void this.#look();
    return () => {
      this.#viewers.delete(viewer);
      this.#new_viewers.delete(viewer);
      if (this.#viewers.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  /** What came while nobody watched is not a live event. */
  #forget(): void {
    this.#next = undefined;
    this.#ring = [];
    this.#ring_chars = 0;
  }

  #resume(viewer: Viewer, positions: ReadonlyMap<number, bigint>): void {
    const missed = this.#ring.filter(({ partition, offset }) => offset >= (positions.get(partition) ?? 0n));
    if (!this.#knowsAllAfter(positions)) viewer.gap();
    const found = missed.filter(({ line }) => isOfProject(line, viewer));
    if (found.length > 0) viewer.events(found);
  }

  /** Whether the ring, and what is read next, has all records from these positions on. */
  #knowsAllAfter(positions: ReadonlyMap<number, bigint>): boolean {
    if (this.#next === undefined) return false;
    const first = new Map<number, bigint>();
    for (const { partition, offset } of this.#ring) if (!first.has(partition)) first.set(partition, offset);
    return [...this.#next].every(([partition, next]) => {
      const wanted = positions.get(partition) ?? 0n;
      return wanted >= (first.get(partition) ?? next);
    });
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#is_looking = true;
    try {
      await this.#read();
      this.#has_failed = false;
    } catch (error) {
      if (!this.#has_failed)
        this.#options.logger.warn({ err: error }, 'live events: the log does not answer');
      this.#has_failed = true;
    } finally {
      this.#is_looking = false;
    }
    if (this.#viewers.size > 0) this.#timer = setTimeout(() => void this.#look(), POLL_MS);
  }

  async #read(): Promise<void> {
    const ends = await this.#options.eventLog.endOffsets(TOPICS.events);
    const known = this.#next;
    const next = (this.#next ??= new Map());
    for (const [partition, end] of ends) {
      const from = next.get(partition);
      if (from === undefined) {
        // What was there before anybody watched is not a live event; of a partition that is added later, all are.
        next.set(partition, known === undefined ? end : 0n);
        continue;
      }
      if (end > from + BigInt(MAX_READ)) this.#passBy(partition, end - BigInt(MAX_READ));
      await this.#readPartition(next, partition, end);
    }
    for (const viewer of this.#new_viewers) viewer.ready(idOf(next));
    this.#new_viewers.clear();
  }

  /** Nobody is shown what lies before `to`, and nobody goes on from before it. */
  #passBy(partition: number, to: bigint): void {
    this.#next?.set(partition, to);
    this.#ring = [];
    this.#ring_chars = 0;
    for (const viewer of this.#viewers) viewer.gap();
  }

  async #readPartition(next: Map<number, bigint>, partition: number, end: bigint): Promise<void> {
    const from = next.get(partition) ?? end;
    if (from >= end) return;
    const { eventLog } = this.#options;
    for await (const { records } of eventLog.read(TOPICS.events, partition, from, end, READ_BATCH)) {
      const found: Kept[] = [];
      for (const { offset, value } of records) {
        next.set(partition, offset + 1n);
        found.push({ id: idOf(next), line: value, partition, offset });
      }
      this.#keep(found);
      for (const viewer of this.#viewers) {
        const own = found.filter(({ line }) => isOfProject(line, viewer));
        if (own.length > 0) viewer.events(own);
      }
      if (this.#viewers.size === 0) return;
    }
  }

  #keep(found: readonly Kept[]): void {
    for (const one of found) {
      this.#ring.push(one);
      this.#ring_chars += one.line.length;
    }
    let first = 0;
    while (this.#ring.length - first > RING_SIZE || this.#ring_chars > RING_CHARS) {
      this.#ring_chars -= this.#ring[first++]?.line.length ?? 0;
    }
    if (first > 0) this.#ring = this.#ring.slice(first);
  }
}

function idOf(next: ReadonlyMap<number, bigint>): string {
  return [...next].map(([partition, offset]) => `${partition}:${offset}`).join(',');
}

const ID = /^\d{1,5}:\d{1,18}(,\d{1,5}:\d{1,18}){0,999}$/;

/** The positions in an id; undefined when the text has none. */
function positionsOf(id: string): Map<number, bigint> | undefined {
  if (!ID.test(id)) return undefined;
  return new Map(
    id.split(',').map((pair) => {
      const [partition = '', offset = ''] = pair.split(':');
      return [Number(partition), BigInt(offset)] as const;
    }),
  );
}
