import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import type { Logger } from '../logger.ts';
import type { EventLog, GroupLag } from './port.ts';
import type { RecordAges } from './record-ages.ts';

/** What a scrape waits for the event log. */
const TIMEOUT_MS = 2_000;

interface LagGaugeOptions {
  registry: Registry;
  eventLog: Pick<EventLog, 'lag'>;
  logger: Logger;
  ages: RecordAges;
  consumers: readonly { topic: string; group: string }[];
}

/** Of one consumer; no partitions when the log did not tell. */
interface ConsumerLag {
  group: string;
  partitions: GroupLag[];
}

/**
 * Adds the gauges `consumer_lag_events` and `consumer_lag_seconds` of these consumers, read at every scrape. A consumer
 * whose lag the log does not tell in time is left out: the value of an earlier scrape would pass for a current one.
 */
export function exposeConsumerLag(options: LagGaugeOptions): void {
  const { registry, ages } = options;
  let asked: Promise<ConsumerLag[]> | undefined;
  // The two gauges are collected at the same time, and share one answer.
  const lags = () =>
    (asked ??= readLags(options).finally(() => {
      asked = undefined;
    }));
  // They register themselves.
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
}

function readLags({ eventLog, logger, consumers }: LagGaugeOptions): Promise<ConsumerLag[]> {
  return Promise.all(
    consumers.map(async ({ topic, group }) => {
      try {
        return { group, partitions: await inTime(eventLog.lag(topic, group)) };
      } catch (error) {
        logger.warn({ err: error, group }, 'lag unknown');
        return { group, partitions: [] };
      }
    }),
  );
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = sleep(TIMEOUT_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer in ${TIMEOUT_MS} ms`);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    timer.abort();
    // The one that lost is heard by nobody.
    late.catch(() => undefined);
    answer.catch(() => undefined);
  }
}
