import { setTimeout as sleep } from 'node:timers/promises';
import type { SendQueue } from './messenger-queries.ts';

/** Batches in hand at the same time, and of one queue: while one is delivered, the next is claimed. */
const MAX_RUNNING = 12;
const MAX_PER_QUEUE = 3;
/** A queue with nothing to take is left alone for longer and longer; one that failed, for this long. */
const FIRST_BACK_OFF_MS = 100;
const LONGEST_BACK_OFF_MS = 5_000;
/** A back-off that ended so long ago is forgotten: the next one begins short again. */
const BACK_OFF_KEPT_MS = 60_000;
/** How long one waits for something to happen, at most. */
const LONGEST_WAIT_MS = 1_000;

/** What came of serving a queue: `locked`, when another messenger is about its project. */
export type Served = 'worked' | 'nothing' | 'locked';

/** While it lasts, the queue is not served. One that `failed` is not called back from it. */
interface QueueBackOff {
  until_ms: number;
  length_ms: number;
  failed: boolean;
}

/**
 * Which queues are served when: several batches at a time, in turns, so that none waits for others that are slow, many,
 * or cannot now. Times are of this process's own clock, that nobody sets.
 */
export class BatchDispatcher {
  readonly #onFailure: (queue: SendQueue, error: unknown) => void;
  /** Batches in hand by campaign and slot; they never reject. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #back_offs = new Map<string, QueueBackOff>();
  #last: SendQueue | undefined;
  #wakeUp = new AbortController();

  constructor(onFailure: (queue: SendQueue, error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** The queue that had its turn last: those after it come first. */
  get last(): SendQueue | undefined {
    return this.#last;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Serves these queues in the background, one batch of each before a second of any; how many batches were begun. */
  dispatch(queues: readonly SendQueue[], serve: (queue: SendQueue) => Promise<Served>): number {
    let begun = 0;
    for (let slot = 0; slot < MAX_PER_QUEUE; slot++) {
      for (const queue of queues) {
        if (this.#running.size >= MAX_RUNNING) return begun;
        if (slot === 0) this.#last = queue;
        const key = `${queue.campaign_id} ${slot}`;
        // Of one that had nothing to take, one batch is enough to find out.
        if (slot > 0 && this.#back_offs.has(queue.campaign_id)) continue;
        if (this.#running.has(key) || this.#isBackingOff(queue)) continue;
        this.#run(key, queue, serve);
        begun += 1;
      }
    }
    return begun;
  }

  /** Resolves when a batch has ended, a back-off is over, or somebody calls; never later than in a second. */
  async nextWakeUp(): Promise<void> {
    const now_ms = performance.now();
    let wait_ms = LONGEST_WAIT_MS;
    for (const [campaign_id, { until_ms }] of this.#back_offs) {
      if (until_ms > now_ms) wait_ms = Math.min(wait_ms, until_ms - now_ms);
      else if (until_ms < now_ms - BACK_OFF_KEPT_MS) this.#back_offs.delete(campaign_id);
    }
    const { signal } = this.#wakeUp;
    await sleep(wait_ms, undefined, { signal }).catch(() => undefined);
    this.#wakeUp = new AbortController();
  }

  /** There is something to do for this campaign; without one, for any. */
  wake(campaign_id?: string): void {
    const called = campaign_id === undefined ? [...this.#back_offs.keys()] : [campaign_id];
    for (const id of called) if (this.#back_offs.get(id)?.failed === false) this.#back_offs.delete(id);
    this.#wakeUp.abort();
  }

  /** Resolves when nothing is in hand. */
  async close(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #isBackingOff({ campaign_id }: SendQueue): boolean {
    return (this.#back_offs.get(campaign_id)?.until_ms ?? 0) > performance.now();
  }

  #run(key: string, queue: SendQueue, serve: (queue: SendQueue) => Promise<Served>): void {
    const { campaign_id } = queue;
    const ended = serve(queue)
      .then(
        (served) => this.#backOffAfter(campaign_id, served),
        (error: unknown) => {
          this.#backOff(campaign_id, LONGEST_BACK_OFF_MS, true);
          this.#onFailure(queue, error);
        },
      )
      .then(() => {
        this.#running.delete(key);
        this.#wakeUp.abort();
      });
    this.#running.set(key, ended);
  }

  #backOffAfter(campaign_id: string, served: Served): void {
    const before = this.#back_offs.get(campaign_id);
    if (before?.failed === true && before.until_ms > performance.now()) return;
    if (served === 'worked') this.#back_offs.delete(campaign_id);
    else if (served === 'locked' || before === undefined)
      this.#backOff(campaign_id, FIRST_BACK_OFF_MS, false);
    // Slots that find nothing at the same time are one such time.
    else if (before.until_ms <= performance.now())
      this.#backOff(campaign_id, Math.min(before.length_ms * 2, LONGEST_BACK_OFF_MS), false);
  }

  #backOff(campaign_id: string, length_ms: number, failed: boolean): void {
    this.#back_offs.set(campaign_id, { until_ms: performance.now() + length_ms, length_ms, failed });
  }
}
