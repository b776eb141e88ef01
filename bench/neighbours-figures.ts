import { percentile, result, type Result } from './measure.ts';

/** After a lock is released: requests of an endpoint are refused for up to a second more, and queues are worked off. */
const AFTER_LOCK_MS = 2_000;

/** The times in which a table was locked or waited for, on the clock of `performance.now()`. */
export class LockWindows {
  readonly #windows: { from_ms: number; to_ms: number }[] = [];

  get count(): number {
    return this.#windows.length;
  }

  /** Runs `work`, which locks a table. */
  async around(work: () => Promise<void>): Promise<void> {
    const window = { from_ms: performance.now(), to_ms: Infinity };
    this.#windows.push(window);
    try {
      await work();
    } finally {
      window.to_ms = performance.now() + AFTER_LOCK_MS;
    }
  }

  /** Whether a lock was held or waited for between these times. */
  touch(from_ms: number, to_ms: number): boolean {
    return this.#windows.some((window) => from_ms < window.to_ms && to_ms > window.from_ms);
  }
}

/** How long something took each time, and how often it was refused. */
export class Figure {
  readonly #windows: LockWindows;
  readonly #outside_ms: number[] = [];
  readonly #inside_ms: number[] = [];
  readonly #refused = new Map<string, number>();

  constructor(windows: LockWindows) {
    this.#windows = windows;
  }

  /** Both on the clock of `performance.now()`. */
  took(from_ms: number, to_ms: number): void {
    const times = this.#windows.touch(from_ms, to_ms) ? this.#inside_ms : this.#outside_ms;
    times.push(to_ms - from_ms);
  }

  /** Counts a refusal, by its code and by whether a table was locked. */
  refused(code: string, from_ms: number, to_ms: number): void {
    const kind = `${code} ${this.#windows.touch(from_ms, to_ms) ? 'while locked' : 'while not locked'}`;
    this.#refused.set(kind, (this.#refused.get(kind) ?? 0) + 1);
  }

  /** The 99th percentile outside of lock windows against its target; the note has everything else. */
  result(what: string, at_most_ms: number): Result {
    const all = [...this.#outside_ms, ...this.#inside_ms];
    const refused = [...this.#refused].map(([kind, times]) => `${times} ${kind}`).join(', ') || 'none';
    const note =
      `not locked: ${quantiles(this.#outside_ms)}\n        locked: ${quantiles(this.#inside_ms)}` +
      `\n        all: ${quantiles(all)}\n        refused: ${refused}`;
    return result(
      `${what}, p99 in ms while no table is locked`,
      [percentile(this.#outside_ms, 0.99)],
      { at_most: at_most_ms },
      note,
    );
  }

  /** The 99th percentile within lock windows against its target; nothing when no table was locked. */
  lockedResults(what: string, at_most_ms: number): Result[] {
    if (this.#inside_ms.length === 0) return [];
    const p99_ms = percentile(this.#inside_ms, 0.99);
    const note = `answered or refused: ${quantiles(this.#inside_ms)}`;
    return [result(`${what}, p99 in ms while a table is locked`, [p99_ms], { at_most: at_most_ms }, note)];
  }
}

function quantiles(times_ms: readonly number[]): string {
  if (times_ms.length === 0) return 'no samples';
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => percentile(times_ms, part).toFixed(0));
  return `p50 ${p50}, p99 ${p99}, max ${most} ms of ${times_ms.length}`;
}
