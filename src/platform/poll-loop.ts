import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from './logger.ts';
import type { WatchedWork } from './postgres/work-watch.ts';
import { retryPauseMs } from './retry-pause.ts';

/** The settings of a polling loop. */
export interface PollOptions {
  /** Names the loop in log messages. */
  name: string;
  logger: Logger;
  /** The pause after a turn that found nothing to do. */
  idle_pause_ms: number;
  /** After each failure in a row the pause doubles, up to this. */
  longest_pause_ms: number;
  /** The loop waits for this before its first turn and after each pause. Absent: it looks for itself. */
  work?: WatchedWork;
  /** The longest wait for `work`. Absent: {@link LONGEST_WAIT_MS}; shorter where a turn does more than this work. */
  longest_wait_ms?: number;
}

/** A loop looks for itself at least so often: work that its query misses is late, but is not lost. */
const LONGEST_WAIT_MS = 30_000;

/** What follows a turn: true: another one at once; false: a pause; an object: a rest that only `wake` ends early. */
export type Turned = boolean | { rest_ms: number };

/** A polling loop that runs in the background. */
export interface PollLoop {
  /** Ends the current pause or wait, because there is something to do. */
  wake(): void;
  /** Starts no further turn; resolves when the running one has ended. */
  close(): Promise<void>;
}

/**
 * Calls `turn` again and again until the loop is closed: as soon as `work` has work, and at once when `turn` returns true
 * (there is more to do). Otherwise it waits for the pause, or for the rest that `turn` asks for, and then until `work` has
 * work. When `turn` rejects, the error
 * is logged and `turn` is called again after a pause, so `turn` must be safe to repeat. When `stop` is aborted, `turn`
 * should resolve or reject soon.
 */
export function startPolling(options: PollOptions, turn: (stop: AbortSignal) => Promise<Turned>): PollLoop {
  const { name, logger, idle_pause_ms, longest_pause_ms, work, longest_wait_ms = LONGEST_WAIT_MS } = options;
  const stop = new AbortController();
  let woken = new AbortController();

  const after_failure = { first_ms: 2 * idle_pause_ms, longest_ms: longest_pause_ms };

  async function run(): Promise<void> {
    let failures = 0;
    // Without work there is no first turn: some twenty loops would each open a connection when the service starts.
    if (work !== undefined) await work.untilFound(woken.signal, longest_wait_ms);
    while (!stop.signal.aborted) {
      woken = new AbortController();
      let pause_ms = idle_pause_ms;
      try {
        const turned = await turn(stop.signal);
        failures = 0;
        if (turned === true) continue;
        if (turned !== false) pause_ms = turned.rest_ms;
      } catch (error) {
        if (stop.signal.aborted) {
          logger.debug({ err: error }, `${name} ended within its turn`);
          return;
        }
        pause_ms = retryPauseMs(after_failure, { attempt: ++failures });
        logger.warn({ err: error, pause_ms }, `${name} failed; it tries again`);
      }
      // `wake` and `close` abort the same signal. A signal combined with `stop` per pause would leak: `stop` would
      // keep a reference to each of them.
      await sleep(pause_ms, undefined, { signal: woken.signal }).catch(() => undefined);
      if (work !== undefined && failures === 0) await work.untilFound(woken.signal, longest_wait_ms);
    }
  }

  const done = run();
  return {
    wake: () => woken.abort(),
    async close() {
      stop.abort();
      woken.abort();
      await done;
    },
  };
}
