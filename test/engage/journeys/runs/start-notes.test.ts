import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { StartNotes } from '../../../../src/engage/journeys/runs/wait-starts.ts';
import type { EventLog } from '../../../../src/platform/event-log/port.ts';
import { createLogger } from '../../../../src/platform/logger.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

it('a log that does not answer is asked again after 2 s, then after twice as long, up to 30 s', async () => {
  let asked = 0;
  const refuse = () => {
    asked += 1;
    return Promise.reject(new Error('away'));
  };
  const eventLog = new Proxy({}, { get: () => refuse }) as EventLog;
  const notes = new StartNotes({ eventLog, logger: createLogger('silent') });
  notes.need();
  vi.advanceTimersByTime(1);
  const pauses_s: number[] = [];
  for (let n = 1; n <= 7; n++) {
    const before = asked;
    const wasAsked = async () => {
      await notes.take();
      vi.advanceTimersByTime(1_000);
      return asked > before;
    };
    let pause_s = 1;
    while (!(await wasAsked())) pause_s += 1;
    pauses_s.push(pause_s);
  }
  expect(pauses_s).toEqual([1, 2, 4, 8, 16, 30, 30]);
});
