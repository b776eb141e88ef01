import { Gauge, type Registry } from 'prom-client';
import type { Clock } from './clock.ts';
import { withinTime } from './time-limit.ts';
import type { Logger } from './logger.ts';

/** What waits for a consumer. */
export interface Backlog {
  /** Counted up to {@link MAX_COUNTED}: then it says "at least". */
  items: number;
  /** Since when the oldest of them has been waiting, in milliseconds since the epoch; null when none waits. */
  oldest_ms: number | null;
}

/** Counting more would cost more than the number is worth. */
export const MAX_COUNTED = 10_000;

/** A queue between two parts of the service, named after its consumer or its content. */
export interface BacklogSource {
  queue: string;
  read(): Promise<Backlog>;
}

interface BacklogGaugeOptions {
  registry: Registry;
  clock: Clock;
  logger: Logger;
  sources: readonly BacklogSource[];
  /** How long a scrape waits for one source, and how long after its beginning it asks no further one. */
  limits: { source_ms: number; total_ms: number };
}

/**
 * Adds the gauges `backlog_items` and `backlog_age_seconds` for these queues, read at every scrape, one after the other
 * so that a scrape uses few connections. A queue that cannot be read in time is omitted: an old value would look like
 * a current one.
 */
export function exposeBacklogs({ registry, clock, logger, sources, limits }: BacklogGaugeOptions): void {
  let asked: Promise<Map<string, Backlog>> | undefined;
  // The two gauges are collected at the same time and share one reading.
  const backlogs = () =>
    (asked ??= readAll(sources, limits, logger).finally(() => {
      asked = undefined;
    }));
  // A gauge registers itself.
  const add = (name: string, help: string, valueOf: (backlog: Backlog) => number) =>
    void new Gauge({
      name,
      help,
      labelNames: ['queue'],
      registers: [registry],
      async collect() {
        const known = await backlogs();
        this.reset();
        for (const [queue, backlog] of known) this.set({ queue }, valueOf(backlog));
      },
    });
  add('backlog_items', 'Items that wait for a consumer, 10000 at most', ({ items }) => items);
  add('backlog_age_seconds', 'How long the oldest item has been waiting for a consumer', ({ oldest_ms }) =>
    oldest_ms === null ? 0 : Math.max(0, clock.now_ms() - oldest_ms) / 1_000,
  );
}

/** Something of which the oldest that is open has an age. */
export interface AgeSource {
  /** The name of the gauge, which ends in `_seconds`. */
  name: string;
  help: string;
  /** Since when the oldest is open, in milliseconds since the epoch; null when none is. */
  read: () => Promise<number | null>;
}

/** Adds a gauge of an age, read at every scrape; 0 while nothing is open. An age that cannot be read in time is not shown. */
export function exposeAge(
  { registry, clock, logger, limits }: Omit<BacklogGaugeOptions, 'sources'>,
  { name, help, read }: AgeSource,
): void {
  // A gauge registers itself.
  void new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.remove();
      try {
        const oldest_ms = await withinTime(limits.source_ms, read());
        this.set(oldest_ms === null ? 0 : Math.max(0, clock.now_ms() - oldest_ms) / 1_000);
      } catch (error) {
        logger.warn({ err: error, gauge: name }, 'age unknown');
      }
    },
  });
}

async function readAll(
  sources: readonly BacklogSource[],
  { source_ms, total_ms }: BacklogGaugeOptions['limits'],
  logger: Logger,
): Promise<Map<string, Backlog>> {
  const found = new Map<string, Backlog>();
  const deadline_ms = performance.now() + total_ms;
  for (const source of sources) {
    if (performance.now() > deadline_ms) break;
    try {
      found.set(source.queue, await withinTime(source_ms, source.read()));
    } catch (error) {
      logger.warn({ err: error, queue: source.queue }, 'backlog unknown');
    }
  }
  return found;
}

/**
 * For rows whose time is that of an earlier change: none of them has waited for longer than since the queue was last
 * seen empty, or since the start of this process.
 */
export function sinceLastEmpty(clock: Clock, read: () => Promise<Backlog>): () => Promise<Backlog> {
  let empty_ms = clock.now_ms();
  return async () => {
    const asked_ms = clock.now_ms();
    const { items, oldest_ms } = await read();
    if (items === 0) empty_ms = asked_ms;
    return { items, oldest_ms: oldest_ms === null ? null : Math.max(oldest_ms, empty_ms) };
  };
}
