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

/** What {@link exposeBacklogs} adds for some queues under another name. */
export interface QueueGauge {
  name: string;
  help: string;
  queues: readonly string[];
  /** The label that has the name of the queue; absent: the gauge is of one queue and has none. */
  label?: string;
  value: 'items' | 'age_s';
}

interface BacklogGaugeOptions {
  registry: Registry;
  clock: Clock;
  logger: Logger;
  sources: readonly BacklogSource[];
  /** Gauges of some of the queues, from the same reading. */
  also?: readonly QueueGauge[];
  /** How long a scrape waits for one source, and how long after its beginning it asks no further one. */
  limits: { source_ms: number; total_ms: number };
}

/**
 * Adds the gauges `backlog_items` and `backlog_age_seconds` for these queues, read at every scrape, one after the other
 * so that a scrape uses few connections. A queue that cannot be read in time is omitted: an old value would look like
 * a current one.
 */
export function exposeBacklogs({
  registry,
  clock,
  logger,
  sources,
  also = [],
  limits,
}: BacklogGaugeOptions): void {
  let asked: Promise<Map<string, Backlog>> | undefined;
  // The gauges are collected at the same time and share one reading.
  const backlogs = () =>
    (asked ??= readAll(sources, limits, logger).finally(() => {
      asked = undefined;
    }));
  const valuesOf = {
    items: ({ items }: Backlog) => items,
    age_s: ({ oldest_ms }: Backlog) =>
      oldest_ms === null ? 0 : Math.max(0, clock.now_ms() - oldest_ms) / 1_000,
  };
  const queues = sources.map(({ queue }) => queue);
  const gauges: QueueGauge[] = [
    {
      name: 'backlog_items',
      help: 'Items that wait for a consumer, 10000 at most',
      queues,
      label: 'queue',
      value: 'items',
    },
    {
      name: 'backlog_age_seconds',
      help: 'How long the oldest item has been waiting for a consumer',
      queues,
      label: 'queue',
      value: 'age_s',
    },
    ...also.filter((gauge) => gauge.queues.some((queue) => queues.includes(queue))),
  ];
  for (const { name, help, queues: of, label, value } of gauges) {
    // A gauge registers itself.
    void new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      async collect() {
        const known = await backlogs();
        if (label === undefined) this.remove();
        else this.reset();
        for (const queue of of) {
          const backlog = known.get(queue);
          if (backlog !== undefined)
            this.set(label === undefined ? {} : { [label]: queue }, valuesOf[value](backlog));
        }
      },
    });
  }
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
  { clock, ...options }: Omit<BacklogGaugeOptions, 'sources' | 'also'>,
  { name, help, read }: AgeSource,
): void {
  const age_s = (oldest_ms: number | null) =>
    oldest_ms === null ? 0 : Math.max(0, clock.now_ms() - oldest_ms) / 1_000;
  exposeReading(options, { name, help, read: async () => [{ value: age_s(await read()) }] });
}

/** A gauge that is read at every scrape. */
export interface Reading {
  name: string;
  help: string;
  labels?: readonly string[];
  /** The present values; none: the gauge is not shown. */
  read: () => Promise<readonly { labels?: Record<string, string>; value: number }[]>;
}

/** Adds a gauge that is read at every scrape. What cannot be read in time is not shown: an old value would look like a current one. */
export function exposeReading(
  { registry, logger, limits }: Pick<BacklogGaugeOptions, 'registry' | 'logger' | 'limits'>,
  { name, help, labels = [], read }: Reading,
): void {
  // A gauge registers itself.
  void new Gauge({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    async collect() {
      const values = await withinTime(limits.source_ms, read()).catch((error: unknown) => {
        logger.warn({ err: error, gauge: name }, 'a metric is unknown');
        return [];
      });
      if (labels.length === 0) this.remove();
      else this.reset();
      for (const one of values) this.set(one.labels ?? {}, one.value);
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
