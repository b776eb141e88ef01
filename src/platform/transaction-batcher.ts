import { setAll } from './postgres/limits.ts';
import type { Tx } from './postgres/port.ts';
import { TooBusy, type QueueLimits } from './fair-queue.ts';

/** How many requests share a transaction, and how many wait for one. */
export interface BatchLimits {
  max_size: number;
  /** A second batch of a kind begins only when the first one has taken so long. At most two are under way. */
  overlap_after_ms: number;
  waiting: Required<QueueLimits>;
}

export const BATCH_LIMITS: BatchLimits = {
  max_size: 32,
  overlap_after_ms: 50,
  waiting: { max_waiting: 1_000, max_waiting_of_group: 500, max_wait_ms: 10_000 },
};

/** The longest statement of a batch's transaction, and its longest wait for a lock: what needs longer is run alone. */
const BATCH_STATEMENT_MS = 1_000;
const BATCH_LOCK_MS = 100;

/**
 * The settings of a batch's transaction: no statement keeps its requests waiting for long, and each is planned once on a
 * connection. A plan that was made while a table was empty stays when it has grown, so it uses the index.
 */
const BATCH_SETTINGS: [name: string, value: string][] = [
  ['statement_timeout', String(BATCH_STATEMENT_MS)],
  ['lock_timeout', String(BATCH_LOCK_MS)],
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
];

/** The first statement of a batch's transaction. */
export async function limitBatch(tx: Tx): Promise<void> {
  await setAll(tx, BATCH_SETTINGS, true);
}

/** What a batch has led to for one of its requests. `retry_alone`: nothing was done, and it is to be run by itself. */
export type BatchOutcome<Done> =
  { kind: 'done'; value: Done } | { kind: 'refused'; error: Error } | { kind: 'retry_alone' };

/** How the requests of a {@link TransactionBatcher} are run. */
export interface BatchWork<Asked, Done> {
  /** Only requests of the same kind share a batch. */
  kindOf: (asked: Asked) => string;
  /** The tenant: it takes at most its share of the places to wait in. */
  groupOf: (asked: Asked) => string;
  /** Two requests that have a name in common do not share a batch. */
  namesOf: (asked: Asked) => readonly string[];
  /** Runs a batch in one transaction; returns the outcomes in its order. */
  runBatch: (batch: readonly Asked[]) => Promise<readonly BatchOutcome<Done>[]>;
  /** Absent: the failure of a batch is that of each of its requests. */
  retryAlone?: RetryAlone<Asked, Done>;
}

/** How the requests of a batch that failed are run again, one by one. */
export interface RetryAlone<Asked, Done> {
  /** Runs one request in a transaction of its own. */
  run: (asked: Asked) => Promise<Done>;
  /** Whether nothing may be run again after this failure of a batch: it may have come after its commit. */
  isFinal: (error: unknown) => boolean;
  /** Called with why a batch was rolled back. */
  onFailure: (error: unknown) => void;
}

interface Waiter<Asked, Done> {
  asked: Asked;
  since_ms: number;
  resolve: (value: Done | Promise<Done>) => void;
  reject: (error: unknown) => void;
}

/** The requests of one kind. */
interface Kind<Asked, Done> {
  waiting: Waiter<Asked, Done>[];
  /** When the batches that are under way began. */
  begun_ms: Set<{ at: number }>;
  timer: NodeJS.Timeout | undefined;
  is_scheduled: boolean;
}

/**
 * Runs requests that are asked for while a transaction is under way together in the next one. Nobody waits for a batch to
 * fill: the first request begins in the same turn of the event loop. When a batch fails, its transaction was rolled back, and
 * each of its requests is run alone, so that none fails because of another. TooBusy is the answer to each.
 */
export class TransactionBatcher<Asked, Done> {
  readonly #work: BatchWork<Asked, Done>;
  readonly #limits: BatchLimits;
  readonly #kinds = new Map<string, Kind<Asked, Done>>();
  /** How many wait, of each group. */
  readonly #waiting_of = new Map<string, number>();
  #waiting = 0;

  constructor(work: BatchWork<Asked, Done>, limits: BatchLimits = BATCH_LIMITS) {
    this.#work = work;
    this.#limits = limits;
  }

  /** The outcome of one request. Rejects with its refusal, or with TooBusy when too many wait. */
  run(asked: Asked): Promise<Done> {
    const { max_waiting, max_waiting_of_group } = this.#limits.waiting;
    const group = this.#work.groupOf(asked);
    const of_group = this.#waiting_of.get(group) ?? 0;
    if (this.#waiting >= max_waiting || of_group >= max_waiting_of_group) {
      return Promise.reject(new TooBusy('too many requests wait for a transaction'));
    }
    this.#count(group, 1);
    return new Promise((resolve, reject) => {
      const name = this.#work.kindOf(asked);
      const kind = this.#kinds.get(name) ?? {
        waiting: [],
        begun_ms: new Set(),
        timer: undefined,
        is_scheduled: false,
      };
      this.#kinds.set(name, kind);
      kind.waiting.push({ asked, since_ms: performance.now(), resolve, reject });
      if (kind.is_scheduled) return;
      kind.is_scheduled = true;
      // What is asked for in this turn of the event loop is one batch.
      setImmediate(() => {
        kind.is_scheduled = false;
        this.#begin(name, kind);
      });
    });
  }

  #count(group: string, change: 1 | -1): void {
    this.#waiting += change;
    const left = (this.#waiting_of.get(group) ?? 0) + change;
    if (left === 0) this.#waiting_of.delete(group);
    else this.#waiting_of.set(group, left);
  }

  /** Begins a batch, if one may begin. At most two of a kind are under way. */
  #begin(name: string, kind: Kind<Asked, Done>): void {
    clearTimeout(kind.timer);
    kind.timer = undefined;
    if (kind.waiting.length === 0) {
      if (kind.begun_ms.size === 0 && !kind.is_scheduled) this.#kinds.delete(name);
      return;
    }
    const [other, another] = kind.begun_ms;
    if (another !== undefined) return;
    if (other !== undefined) {
      const left_ms = other.at + this.#limits.overlap_after_ms - performance.now();
      if (left_ms > 0) {
        kind.timer = setTimeout(() => this.#begin(name, kind), Math.ceil(left_ms));
        return;
      }
    }
    const batch = this.#take(kind);
    const begun = { at: performance.now() };
    kind.begun_ms.add(begun);
    void this.#run(batch).finally(() => {
      kind.begun_ms.delete(begun);
      this.#begin(name, kind);
    });
  }

  /** The next requests in their order, none of which has a name of another; those who waited too long are refused. */
  #take(kind: Kind<Asked, Done>): Waiter<Asked, Done>[] {
    const { max_size, waiting } = this.#limits;
    const batch: Waiter<Asked, Done>[] = [];
    const left: Waiter<Asked, Done>[] = [];
    const names = new Set<string>();
    const oldest_ms = performance.now() - waiting.max_wait_ms;
    for (const one of kind.waiting) {
      const own = this.#work.namesOf(one.asked);
      if (one.since_ms < oldest_ms) {
        one.reject(new TooBusy(`waited ${waiting.max_wait_ms} ms for a transaction`));
      } else if (batch.length < max_size && own.every((name) => !names.has(name))) {
        batch.push(one);
        for (const name of own) names.add(name);
      } else {
        left.push(one);
        continue;
      }
      this.#count(this.#work.groupOf(one.asked), -1);
    }
    kind.waiting = left;
    return batch;
  }

  /** Never rejects. */
  async #run(batch: readonly Waiter<Asked, Done>[]): Promise<void> {
    const { runBatch, retryAlone } = this.#work;
    let outcomes: readonly BatchOutcome<Done>[] = [];
    try {
      if (batch.length > 0) outcomes = await runBatch(batch.map(({ asked }) => asked));
    } catch (error) {
      if (retryAlone === undefined || error instanceof TooBusy || retryAlone.isFinal(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      retryAlone.onFailure(error);
    }
    batch.forEach(({ asked, resolve, reject }, i) => {
      const outcome = outcomes[i] ?? { kind: 'retry_alone' };
      if (outcome.kind === 'done') resolve(outcome.value);
      else if (outcome.kind === 'refused') reject(outcome.error);
      else if (retryAlone !== undefined) resolve(retryAlone.run(asked));
      else reject(new Error('a batch has no outcome for a request'));
    });
  }
}
