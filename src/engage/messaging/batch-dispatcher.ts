import { setTimeout as sleep } from 'node:timers/promises';
import type { SendQueue } from './queue-queries.ts';

/** Batches that run at the same time, in all and per queue: while one is delivered, the next is claimed. */
const MAX_RUNNING = 12;
const MAX_PER_QUEUE = 3;
/**
 * The back-off of a queue without work doubles from the first length to the longest; after a failure it is the longest.
 */
const FIRST_BACK_OFF_MS = 100;
const LONGEST_BACK_OFF_MS = 5_000;
/** A back-off that ended this long ago is forgotten: the next one begins with the first length again. */
const BACK_OFF_KEPT_MS = 60_000;
/** The longest wait for a wake-up. */
const LONGEST_WAIT_MS = 1_000;

/** The result of serving a queue; `locked`: another messenger is claiming messages of its project. */
export type Served = 'worked' | 'nothing' | 'locked';

/** Until `until_ms` the queue is not served. `wake` ends a back-off, but not that of a queue that `failed`. */
interface QueueBackOff {
  until_ms: number;
  length_ms: number;
  failed: boolean;
}

/** A clock that only goes forward, and a wait that resolves at its end or when `signal` is aborted. */
interface Time {
  now_ms(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The process's monotonic clock (`performance.now`). */
const PROCESS_TIME: Time = {
  now_ms: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
};

/**
 * Decides which queues are served when: several batches at a time, in turns, so that no queue waits for others that are
 * slow, many or unavailable.
 */
export class BatchDispatcher {
  readonly #time: Time;
  readonly #onFailure: (queue: SendQueue, error: unknown) => void;
  /** Running batches by queue and slot; they never reject. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #back_offs = new Map<string, QueueBackOff>();
  #last: SendQueue | undefined;
  #wakeUp = new AbortController();

  constructor(onFailure: (queue: SendQueue, error: unknown) => void, time = PROCESS_TIME) {
    this.#time = time;
    this.#onFailure = onFailure;
  }

  /** The queue that was served last: the next turn begins with the queues after it. */
  get last(): SendQueue | undefined {
    return this.#last;
  }

  get running(): number {
    return this.#running.size;
  }

  /**
   * Starts batches in the background, one of each queue before a second of any; returns how many were started. Queues
   * that may not be served now are passed over.
   */
  dispatch(
    queues: readonly SendQueue[],
    serve: (queue: SendQueue) => Promise<Served>,
    mayServe: (queue: SendQueue) => boolean = () => true,
  ): number {
    let begun = 0;
    for (let slot = 0; slot < MAX_PER_QUEUE; slot++) {
      for (const queue of queues) {
        if (this.#running.size >= MAX_RUNNING) return begun;
        if (slot === 0) this.#last = queue;
        const key = `${queue.queue_id} ${slot}`;
        // A queue that had no work lately gets one batch only, to find out whether it has work again.
        if (slot > 0 && this.#back_offs.has(queue.queue_id)) continue;
        if (this.#running.has(key) || this.#isBackingOff(queue) || !mayServe(queue)) continue;
        this.#run(key, queue, serve);
        begun += 1;
      }
    }
    return begun;
  }

  /** Resolves when a batch ends, a back-off ends or `wake` is called; after one second at the latest. */
  async nextWakeUp(): Promise<void> {
    const now_ms = this.#time.now_ms();
    let wait_ms = LONGEST_WAIT_MS;
    for (const [queue_id, { until_ms }] of this.#back_offs) {
      if (until_ms > now_ms) wait_ms = Math.min(wait_ms, until_ms - now_ms);
      else if (until_ms < now_ms - BACK_OFF_KEPT_MS) this.#back_offs.delete(queue_id);
    }
    const { signal } = this.#wakeUp;
    await this.#time.sleep(wait_ms, signal);
    this.#wakeUp = new AbortController();
  }

  /** Ends back-offs and the wait: the queue, or without an id any queue, may have work. */
  wake(queue_id?: string): void {
    const called = queue_id === undefined ? [...this.#back_offs.keys()] : [queue_id];
    for (const id of called) if (this.#back_offs.get(id)?.failed === false) this.#back_offs.delete(id);
    this.#wakeUp.abort();
  }

  /** Ends the wait, but no back-off. */
  endWait(): void {
    this.#wakeUp.abort();
  }

  /** Something of the queue failed: it is not served for 5 s, and no call wakes it. */
  fail(queue: SendQueue, error: unknown): void {
    this.#backOff(queue.queue_id, LONGEST_BACK_OFF_MS, true);
    this.#onFailure(queue, error);
  }

  /** Resolves when all running batches have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #isBackingOff({ queue_id }: SendQueue): boolean {
    return (this.#back_offs.get(queue_id)?.until_ms ?? 0) > this.#time.now_ms();
  }

  #run(key: string, queue: SendQueue, serve: (queue: SendQueue) => Promise<Served>): void {
    const { queue_id } = queue;
    const ended = serve(queue)
      .then(
        (served) => this.#backOffAfter(queue_id, served),
        (error: unknown) => this.fail(queue, error),
      )
      .then(() => {
        this.#running.delete(key);
        this.#wakeUp.abort();
      });
    this.#running.set(key, ended);
  }

  #backOffAfter(queue_id: string, served: Served): void {
    const before = this.#back_offs.get(queue_id);
    if (before?.failed === true && before.until_ms > this.#time.now_ms()) return;
    if (served === 'worked') this.#back_offs.delete(queue_id);
    else if (served === 'locked' || before === undefined) this.#backOff(queue_id, FIRST_BACK_OFF_MS, false);
    // Slots that find no work at the same time count once: the length doubles only after the back-off has ended.
    else if (before.until_ms <= this.#time.now_ms())
      this.#backOff(queue_id, Math.min(before.length_ms * 2, LONGEST_BACK_OFF_MS), false);
  }

  #backOff(queue_id: string, length_ms: number, failed: boolean): void {
    this.#back_offs.set(queue_id, { until_ms: this.#time.now_ms() + length_ms, length_ms, failed });
  }
}

/** The most batches of one tenant, and of all, that are delivered at the same time. */
const MAX_OF_TENANT = 100;
const MAX_DELIVERIES = 1_000;

/**
 * The batches that are being delivered, by tenant. At its limit a tenant begins no further one until one has ended. At
 * the limit of all only tenants that have none begin one: the slow providers of some tenants stop no other.
 */
export class Deliveries<Batch extends object> {
  /** With a promise that never rejects. */
  readonly #of_tenants = new Map<string, Map<Batch, Promise<void>>>();
  #count = 0;

  /** How many batches are being delivered. */
  get count(): number {
    return this.#count;
  }

  /** Those that are being delivered. */
  get batches(): Batch[] {
    return [...this.#of_tenants.values()].flatMap((of_tenant) => [...of_tenant.keys()]);
  }

  /** Whether the tenant may begin another one. */
  mayBegin(tenant_id: string): boolean {
    const most = this.#count < MAX_DELIVERIES ? MAX_OF_TENANT : 1;
    return (this.#of_tenants.get(tenant_id)?.size ?? 0) < most;
  }

  /** Counts a batch of the tenant until it is delivered; the promise must never reject. */
  add(tenant_id: string, batch: Batch, delivered: Promise<void>): void {
    const known = this.#of_tenants.get(tenant_id);
    const of_tenant = known ?? new Map<Batch, Promise<void>>();
    if (known === undefined) this.#of_tenants.set(tenant_id, of_tenant);
    this.#count += 1;
    const ended = delivered.then(() => {
      this.#count -= 1;
      of_tenant.delete(batch);
      if (of_tenant.size === 0) this.#of_tenants.delete(tenant_id);
    });
    of_tenant.set(batch, ended);
  }

  /** Resolves when those that are being delivered have ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#of_tenants.values()].flatMap((of_tenant) => [...of_tenant.values()]));
  }
}
