import { Gauge, type Registry } from 'prom-client';
import { withinTime } from '../time-limit.ts';
import type { Logger } from '../logger.ts';
import type { EventLog, GroupLag } from './port.ts';
import type { RecordAges } from './record-ages.ts';

/** How long a scrape waits for the event log. */
const TIMEOUT_MS = 2_000;

interface LagGaugeOptions {
  registry: Registry;
  eventLog: Pick<EventLog, 'lag'>;
  logger: Logger;
  ages: RecordAges;
  consumers: readonly { topic: string; group: string }[];
}

/** The lag of one consumer; without partitions when the log did not answer. */
export interface ConsumerLag {
  group: string;
  partitions: GroupLag[];
}

/**
 * Adds the gauges `consumer_lag_events` and `consumer_lag_seconds` for these consumers, read at every scrape. A
 * consumer is omitted when the log does not return its lag in time: an old value would look like a current one. Returns
 * a function that reads the lag; callers at the same time share one request to the log.
 */
export function exposeConsumerLag(options: LagGaugeOptions): () => Promise<ConsumerLag[]> {
  const { registry, ages } = options;
  let asked: Promise<ConsumerLag[]> | undefined;
  // Gauges are collected at the same time.
  const lags = () =>
    (asked ??= readLags(options).finally(() => {
      asked = undefined;
    }));
  // A gauge registers itself.
  void new Gauge({
    name: 'consumer_lag_events',
    help: 'Records behind the end of the topic',
    labelNames: ['group', 'partition'],
    registers: [registry],
    async collect() {
      const known = await lags();
      this.reset();
      for (const { group, partitions } of known) {
        for (const { partition, next_offset, end_offset } of partitions) {
          this.set({ group, partition }, Number(end_offset - next_offset));
        }
      }
    },
  });
  void new Gauge({
    name: 'consumer_lag_seconds',
    help: 'How long the oldest record behind the consumer has been waiting since it was received',
    labelNames: ['group'],
    registers: [registry],
    async collect() {
      const known = await lags();
      this.reset();
      for (const { group, partitions } of known) {
        if (partitions.length === 0) continue;
        this.set({ group }, Math.max(...partitions.map((lag) => ages.waiting_ms(group, lag))) / 1000);
      }
    },
  });
  return lags;
}

function readLags({ eventLog, logger, consumers }: LagGaugeOptions): Promise<ConsumerLag[]> {
  return Promise.all(
    consumers.map(async ({ topic, group }) => {
      try {
        return { group, partitions: await withinTime(TIMEOUT_MS, eventLog.lag(topic, group)) };
      } catch (error) {
        logger.warn({ err: error, group }, 'lag unknown');
        return { group, partitions: [] };
      }
    }),
  );
}
