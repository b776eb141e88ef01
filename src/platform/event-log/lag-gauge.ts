import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import type { Logger } from '../logger.ts';
import type { EventLog } from './port.ts';

/** What a scrape waits for the event log. */
const TIMEOUT_MS = 2_000;

interface LagGaugeOptions {
  registry: Registry;
  eventLog: Pick<EventLog, 'lag'>;
  logger: Logger;
  consumers: readonly { topic: string; group: string }[];
}

/**
 * Adds the gauge `consumer_lag_events` of these consumers, read from the log at every scrape. A consumer whose lag
 * the log does not tell in time is left out: the value of an earlier scrape would pass for a current one.
 */
export function exposeConsumerLag({ registry, eventLog, logger, consumers }: LagGaugeOptions): void {
  // It registers itself.
  void new Gauge({
    name: 'consumer_lag_events',
    help: 'Records behind the end of the topic',
    labelNames: ['group', 'partition'],
    registers: [registry],
    async collect() {
      const lags = await Promise.all(
        consumers.map(async ({ topic, group }) => {
          try {
            return { group, partitions: await inTime(eventLog.lag(topic, group)) };
          } catch (error) {
            logger.warn({ err: error, group }, 'lag unknown');
            return { group, partitions: [] };
          }
        }),
      );
      this.reset();
      for (const { group, partitions } of lags) {
        for (const { partition, next_offset, end_offset } of partitions) {
          this.set({ group, partition }, Number(end_offset - next_offset));
        }
      }
    },
  });
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
