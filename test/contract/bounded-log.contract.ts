import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EventLog } from '../../src/platform/event-log/port.ts';
import { until } from '../engines/until.ts';
import type { LogFixture } from './event-log.contract.ts';
import { range, record } from './log-records.ts';

/** Within this time an unavailable log is reported, and a close with a stuck handler ends. */
const BOUND_MS = 15_000;
const TOPIC = 'bounded';

/** The times that every event log keeps (see port.ts), on a real engine; what it does then is in eventLogContract. */
export function boundedLogContract(name: string, start: () => Promise<LogFixture>): void {
  describe(`event log: ${name}`, () => {
    let fixture: LogFixture;
    let log: EventLog;
    beforeAll(async () => {
      fixture = await start();
      log = await fixture.open();
      await log.ensureTopics([TOPIC]);
    });
    afterAll(async () => {
      await log?.close();
      await fixture?.stop();
    });

    test('a consumer with a stuck handler closes in bounded time, and its log, too', async () => {
      const took_ms: number[] = [];
      for (let n = 0; n < 3; n++) {
        let is_stuck = false;
        const consumer = await log.consume({
          topic: TOPIC,
          group: `g-${n}`,
          max_records: 100,
          linger_ms: 0,
          handle: () => {
            is_stuck = true;
            return new Promise(() => undefined);
          },
        });
        await log.append(TOPIC, [record('stuck', n)]);
        await until(() => is_stuck);
        const started_ms = performance.now();
        await consumer.close(200);
        await log.close();
        log = await fixture.open();
        await log.ensureTopics([TOPIC]);
        took_ms.push(performance.now() - started_ms);
      }
      expect(Math.max(...took_ms)).toBeLessThan(BOUND_MS);
    });

    test('without its engine an append is refused in bounded time, however many are asked for', async () => {
      await log.append(TOPIC, [record('one', 1)]);
      await fixture.setAvailable(false);
      try {
        const started_ms = performance.now();
        const flood = range(0, 300).map(() =>
          log.append(
            TOPIC,
            range(0, 1_000).map((i) => record('flood', i)),
          ),
        );
        const outcomes = await Promise.allSettled(flood);
        expect(performance.now() - started_ms).toBeLessThan(BOUND_MS);
        expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
      } finally {
        await fixture.setAvailable(true);
      }
    });
  });
}
