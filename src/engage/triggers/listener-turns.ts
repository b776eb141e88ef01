import { LRUCache } from 'lru-cache';
import type { ListenerRef } from './kind.ts';

/** Decisions that run at the same time, in all and per project. */
const MAX_RUNNING = 8;
const MAX_PER_PROJECT = 2;
/** Events per decision; fewer after a failure, so that one event that cannot be decided is found. */
const MAX_EVENTS = 500;
/** The pause of a listener whose events ClickHouse does not have yet doubles up to this. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 200;
/** The pause of a listener whose decisions fail doubles up to this. */
const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 30_000;
/** Beyond this number the oldest state is forgotten, and so its listener may be asked early. */
const MAX_LISTENERS = 10_000;

/** What happened last to a listener that has a pause. */
interface ListenerState {
  until_ms: number;
  length_ms: number;
  has_failed: boolean;
  limit: number;
}

/**
 * Which listeners are decided when: several at a time, so that one that is slow or fails holds up no other. Times are of
 * the process's monotonic clock (`performance.now`).
 */
export class ListenerTurns {
  /** Listener → its running decision and its project. */
  readonly #running = new Map<string, { project_id: string; ended: Promise<void> }>();
  readonly #states = new LRUCache<string, ListenerState>({ max: MAX_LISTENERS });

  get running(): number {
    return this.#running.size;
  }

  /** How many events the listener decides at once now. */
  limitOf({ listener_id }: ListenerRef): number {
    return this.#states.get(listener_id)?.limit ?? MAX_EVENTS;
  }

  /** Whether its last decision failed. */
  hasFailed({ listener_id }: ListenerRef): boolean {
    return this.#states.get(listener_id)?.has_failed ?? false;
  }

  /** Starts `work`, which must not reject, unless the listener runs or pauses, or too many run. */
  begin(listener: ListenerRef, work: () => Promise<'worked' | 'nothing' | 'failed'>): void {
    const { listener_id, project_id } = listener;
    if (this.#running.size >= MAX_RUNNING || this.#running.has(listener_id)) return;
    if ((this.#states.get(listener_id)?.until_ms ?? 0) > performance.now()) return;
    const of_project = [...this.#running.values()].filter((one) => one.project_id === project_id);
    if (of_project.length >= MAX_PER_PROJECT) return;
    const ended = work().then((result) => {
      this.#running.delete(listener_id);
      this.#note(listener_id, result);
    });
    this.#running.set(listener_id, { project_id, ended });
  }

  /** Resolves when a running decision ends; never when none runs. */
  next(): Promise<void> {
    return Promise.race([...this.#running.values()].map(({ ended }) => ended));
  }

  /** Resolves when all running decisions have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #note(listener_id: string, result: 'worked' | 'nothing' | 'failed'): void {
    const before = this.#states.get(listener_id);
    const limit = before?.limit ?? MAX_EVENTS;
    if (result === 'worked') {
      // After failures it grows slowly: the next failure then concerns few events.
      if (limit * 2 >= MAX_EVENTS) this.#states.delete(listener_id);
      else this.#states.set(listener_id, { until_ms: 0, length_ms: 0, has_failed: false, limit: limit * 2 });
      return;
    }
    const has_failed = result === 'failed' || (before?.has_failed ?? false);
    const [first_ms, longest_ms] =
      result === 'failed' ? [FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS] : [FIRST_PAUSE_MS, LONGEST_PAUSE_MS];
    const length_ms = Math.max(first_ms, Math.min((before?.length_ms ?? 0) * 2, longest_ms));
    this.#states.set(listener_id, {
      until_ms: performance.now() + length_ms,
      length_ms,
      has_failed,
      limit: result === 'failed' ? Math.max(1, Math.floor(limit / 2)) : limit,
    });
  }
}
