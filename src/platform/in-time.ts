import { setTimeout as sleep } from 'node:timers/promises';

/** The answer; rejects when there is none within `timeout_ms`. */
export async function inTime<T>(answer: Promise<T>, timeout_ms: number): Promise<T> {
  const timer = new AbortController();
  const late = sleep(timeout_ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer in ${timeout_ms} ms`);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    timer.abort();
    // Nothing awaits the promise that lost the race: its rejection must be handled.
    late.catch(() => undefined);
    answer.catch(() => undefined);
  }
}
