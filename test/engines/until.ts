import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

const PATIENCE_MS = 60_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;
const LONGEST_TEXT = 4_000;

/** Notes a value for the message of a wait that fails, and returns it. */
export type Saw = <S>(value: S) => S;

/** What is asked again and again: false or undefined means "not yet". An error ends the wait. */
export type Probe<T> = (saw: Saw) => T | Promise<T>;

/** What a probe gives in the end. */
export type Found<T> = Exclude<T, false | undefined>;

/**
 * Resolves with the first value of the probe that is neither false nor undefined. Rejects after `timeout_ms` with a
 * message that has `what`, or the text of the probe, and what the last call of the probe saw.
 */
export function until<T>(probe: Probe<T>): Promise<Found<T>>;
export function until<T>(what: string, probe: Probe<T>, timeout_ms?: number): Promise<Found<T>>;
export async function until<T>(
  first: string | Probe<T>,
  second?: Probe<T>,
  timeout_ms = PATIENCE_MS,
): Promise<Found<T>> {
  const probe = typeof first === 'string' ? (second as Probe<T>) : first;
  const deadline_ms = Date.now() + timeout_ms;
  for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(pause_ms * 2, LONGEST_PAUSE_MS)) {
    const seen: unknown[] = [];
    const value = await probe((noted) => {
      seen.push(noted);
      return noted;
    });
    if (value !== undefined && value !== false) return value as Found<T>;
    if (Date.now() > deadline_ms) {
      const last = inspect(seen.length === 0 ? value : seen.length === 1 ? seen[0] : seen, { depth: 5 });
      throw new Error(
        `still false after ${timeout_ms} ms: ${String(first)}\nseen last: ${last.slice(0, LONGEST_TEXT)}`,
      );
    }
    await sleep(pause_ms);
  }
}
