import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { ListenerRef } from './kind.ts';

/** Decisions that run at the same time, in all, per tenant and per project. */
const MAX_RUNNING = 8;
const MAX_PER_TENANT = 4;
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

/** A running decision, and what it did. */
type Work = Promise<'worked' | 'nothing' | 'failed'>;

/** What happened last to a listener that has a pause. */
interface ListenerState {
  until_ms: number;
  length_ms: number;
  has_failed: boolean;
  limit: number;
}

/**
 * Which listeners are decided when: several at a time, so that one that is slow or fails holds up no other, and in turns,
 * so that listeners that always have events hold up no other. Times are of the process's monotonic clock
 * (`performance.now`).
 */
export class ListenerTurns {
  /** Listener → its running decision. */
  readonly #running = new Map<string, { of: ListenerRef; ended: Promise<void> }>();
  readonly #states = new BoundedCache<string, ListenerState>({ max: MAX_LISTENERS });
  /** Listener → the number of its last decision among all that were begun. */
  readonly #begun = new BoundedCache<string, number>({ max: MAX_LISTENERS });
  #number = 0;

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

  /** Whether no further decision can begin now. */
  get isFull(): boolean {
    return this.#running.size >= MAX_RUNNING;
  }

  /**
   * Starts `work`, which must not reject, for those of the listeners that neither run nor pause: the one first whose last
   * decision began the longest ago, until too many run.
   */
  begin<Listener extends ListenerRef>(
    listeners: readonly Listener[],
    work: (listener: Listener) => Work,
  ): void {
    const turnOf = ({ listener_id }: ListenerRef) => this.#begun.get(listener_id) ?? 0;
    const turns = new Map(listeners.map((listener) => [listener, turnOf(listener)]));
    const in_turn = listeners.toSorted((a, b) => (turns.get(a) ?? 0) - (turns.get(b) ?? 0));
    for (const listener of in_turn) if (this.#mayBegin(listener)) this.#run(listener, work(listener));
  }

  #mayBegin({ listener_id, tenant_id, project_id }: ListenerRef): boolean {
    if (this.isFull || this.#running.has(listener_id)) return false;
    if ((this.#states.get(listener_id)?.until_ms ?? 0) > performance.now()) return false;
    const of_tenant = [...this.#running.values()].filter(({ of }) => of.tenant_id === tenant_id);
    const of_project = of_tenant.filter(({ of }) => of.project_id === project_id);
    return of_tenant.length < MAX_PER_TENANT && of_project.length < MAX_PER_PROJECT;
  }

  #run(listener: ListenerRef, work: Work): void {
    const { listener_id } = listener;
    this.#begun.set(listener_id, ++this.#number);
    const ended = work.then((result) => {
      this.#running.delete(listener_id);
      this.#note(listener_id, result);
    });
    this.#running.set(listener_id, { of: listener, ended });
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
