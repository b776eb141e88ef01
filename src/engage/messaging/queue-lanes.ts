import { setTimeout as sleep } from 'node:timers/promises';
import type { SendQueue } from './messenger-queries.ts';

/** Batches in hand at the same time, and of one queue: while one is delivered, the next is claimed. */
const MAX_RUNNING = 12;
const MAX_PER_QUEUE = 3;
/** A queue with nothing to take is left alone for longer and longer; one that failed, for this long. */
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 5_000;
/** A rest that was over so long ago says nothing any more. */
const FORGOTTEN_AFTER_MS = 60_000;
/** How long one waits for something to happen, at most. */
const LONGEST_WAIT_MS = 1_000;

/** What came of serving a queue: `elsewhere`, when another messenger is about its project. */
export type Served = 'worked' | 'nothing' | 'elsewhere';

/** While it lasts, the queue is not served. One that `failed` is not called back from it. */
interface Rest {
  until_ms: number;
  length_ms: number;
  failed: boolean;
}

/**
 * Which queues are served when: several batches at a time, in turns, so that none waits for others that are slow, many,
 * or cannot now. Times are of this process's own clock, that nobody sets.
 */
export class QueueLanes {
  readonly #onFailure: (queue: SendQueue, error: unknown) => void;
  /** Batches in hand by campaign and lane; they never reject. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #rests = new Map<string, Rest>();
  #last: SendQueue | undefined;
  #happened = new AbortController();

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
  begin(queues: readonly SendQueue[], serve: (queue: SendQueue) => Promise<Served>): number {
    let begun = 0;
    for (let lane = 0; lane < MAX_PER_QUEUE; lane++) {
      for (const queue of queues) {
        if (this.#running.size >= MAX_RUNNING) return begun;
        if (lane === 0) this.#last = queue;
        const key = `${queue.campaign_id} ${lane}`;
        // Of one that had nothing to take, one batch is enough to find out.
        if (lane > 0 && this.#rests.has(queue.campaign_id)) continue;
        if (this.#running.has(key) || this.#isResting(queue)) continue;
        this.#run(key, queue, serve);
        begun += 1;
      }
    }
    return begun;
  }

  /** Resolves when a batch has ended, a rest is over, or somebody calls; never later than in a second. */
  async somethingHappens(): Promise<void> {
    const now_ms = performance.now();
    let wait_ms = LONGEST_WAIT_MS;
    for (const [campaign_id, { until_ms }] of this.#rests) {
      if (until_ms > now_ms) wait_ms = Math.min(wait_ms, until_ms - now_ms);
      else if (until_ms < now_ms - FORGOTTEN_AFTER_MS) this.#rests.delete(campaign_id);
    }
    const { signal } = this.#happened;
    await sleep(wait_ms, undefined, { signal }).catch(() => undefined);
    this.#happened = new AbortController();
  }

  /** There is something to do for this campaign; without one, for any. */
  call(campaign_id?: string): void {
    const called = campaign_id === undefined ? [...this.#rests.keys()] : [campaign_id];
    for (const id of called) if (this.#rests.get(id)?.failed === false) this.#rests.delete(id);
    this.#happened.abort();
  }

  /** Resolves when nothing is in hand. */
  async close(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #isResting({ campaign_id }: SendQueue): boolean {
    return (this.#rests.get(campaign_id)?.until_ms ?? 0) > performance.now();
  }

  #run(key: string, queue: SendQueue, serve: (queue: SendQueue) => Promise<Served>): void {
    const { campaign_id } = queue;
    const ended = serve(queue)
      .then(
        (served) => this.#restAfter(campaign_id, served),
        (error: unknown) => {
          this.#rest(campaign_id, LONGEST_REST_MS, true);
          this.#onFailure(queue, error);
        },
      )
      .then(() => {
        this.#running.delete(key);
        this.#happened.abort();
      });
    this.#running.set(key, ended);
  }

  #restAfter(campaign_id: string, served: Served): void {
    const before = this.#rests.get(campaign_id);
    if (before?.failed === true && before.until_ms > performance.now()) return;
    if (served === 'worked') this.#rests.delete(campaign_id);
    else if (served === 'elsewhere' || before === undefined) this.#rest(campaign_id, FIRST_REST_MS, false);
    // Lanes that find nothing at the same time are one such time.
    else if (before.until_ms <= performance.now())
      this.#rest(campaign_id, Math.min(before.length_ms * 2, LONGEST_REST_MS), false);
  }

  #rest(campaign_id: string, length_ms: number, failed: boolean): void {
    this.#rests.set(campaign_id, { until_ms: performance.now() + length_ms, length_ms, failed });
  }
}
