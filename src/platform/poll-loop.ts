import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from './logger.ts';

/** What a loop is called when it fails, and how long it rests, in milliseconds. */
export interface PollOptions {
  name: string;
  logger: Logger;
  /** After a turn that found nothing to do. */
  idle_pause_ms: number;
  /** Pauses after failures double up to this. */
  longest_pause_ms: number;
}

/** A loop at work in the background. */
export interface PollLoop {
  /** Ends the present pause: there is something to do. */
  wake(): void;
  /** Resolves when the turn under way has ended. */
  close(): Promise<void>;
}

/**
 * Takes turn after turn until closed: at once while `turn` says that there is more to do, else after a pause. A turn that
 * rejects is logged and comes again; it must bear that. Once `stop` is aborted it should end soon, in whichever way.
 */
export function startPolling(options: PollOptions, turn: (stop: AbortSignal) => Promise<boolean>): PollLoop {
  const { name, logger, idle_pause_ms, longest_pause_ms } = options;
  const stop = new AbortController();
  let woken = new AbortController();

  async function run(): Promise<void> {
    let pause_ms = idle_pause_ms;
    while (!stop.signal.aborted) {
      woken = new AbortController();
      try {
        const has_more = await turn(stop.signal);
        pause_ms = idle_pause_ms;
        if (has_more) continue;
      } catch (error) {
        if (stop.signal.aborted) {
          logger.debug({ err: error }, `${name} ended within its turn`);
          return;
        }
        pause_ms = Math.min(pause_ms * 2, longest_pause_ms);
        logger.warn({ err: error, pause_ms }, `${name} failed; it tries again`);
      }
      // One signal, ended by wake and close alike: whatever joins it with `stop` stays in the memory of `stop`.
      await sleep(pause_ms, undefined, { signal: woken.signal }).catch(() => undefined);
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
