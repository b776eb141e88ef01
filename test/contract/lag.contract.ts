import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { EventLog } from '../../src/platform/event-log/port.ts';
import { record } from './log-records.ts';

/** Each record leads to the next one, which is appended before the position passes the record. */
const CHAIN = 60;

/** The lag of a group whose consumer appends. */
export function lagCases(open: () => EventLog): void {
  test('a lag is never negative, and zero only when nothing waits', async () => {
    const log = open();
    const topic = `lag-${randomUUID().slice(0, 8)}`;
    await log.ensureTopics([topic]);
    await log.append(topic, [record('one', 1)]);
    const seen = new Set<number>();
    await log.consume({
      topic,
      group: 'g',
      max_records: 1,
      linger_ms: 0,
      async handle({ records }) {
        const nth = Number(records[0]?.value);
        if (nth < CHAIN) await log.append(topic, [record('one', nth + 1)]);
        seen.add(nth);
      },
    });
    while (seen.size < CHAIN) {
      const lags = (await log.lag(topic, 'g')).map((row) => Number(row.end_offset - row.next_offset));
      expect(Math.min(...lags)).toBeGreaterThanOrEqual(0);
      if (lags.every((lag) => lag === 0)) expect(seen.size).toBe(CHAIN);
    }
  });
}
