import { BoundedCache } from './bounded-cache.ts';
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import { withinTime } from './time-limit.ts';

/** A value is never returned later than this after its load began. So every change applies by then at the latest. */
const MAX_STALE_MS = 15 * 60_000;
/** Callers wait this long for a newer value when there is an older one. */
const PATIENCE_MS = 1_000;
/** After a load failed, older values are not loaded again before this time has passed. */
const RETRY_MS = 1_000;
/** Loads at a time. Beyond it older values are returned, and callers without one are refused. */
const MAX_LOADS = 1_000;

/** Loads the value of a key; undefined when there is none. It must settle within a limited time. */
export type Load<V> = (key: string) => Promise<V | undefined>;

interface Known<V> {
  value: V;
  loaded_at_ms: number;
  /** Until then it is returned without a load. */
  fresh_until_ms: number;
  /** Whether it was returned although it was not fresh: the next callers do not wait for the same load. */
  is_stale: boolean;
}

interface Running<V> {
  promise: Promise<V | undefined>;
  /** Its key expired meanwhile: it may have read the value from before the change, so later callers do not share it. */
  is_expired: boolean;
}

interface Options<V> {
  /** What is cached, for the log. */
  name: string;
  /** Values at most; beyond it the least recently used is forgotten. */
  max: number;
  /** A value is returned without a load for this long. */
  fresh_ms: number;
  load: Load<V>;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Called each time a value is returned that should have been loaded again. */
  onStale: () => void;
}

/** Rejects callers when too many loads are running. */
export class TooManyLoads extends Error {
  constructor(name: string) {
    super(`${MAX_LOADS} loads of ${name} are running already`);
    this.name = 'TooManyLoads';
  }
}

/**
 * A cache of values that a database holds, which goes on while the database does not answer: a value that cannot be
 * loaded again is returned as it was last known, for at most 15 minutes after its load began. Keys without a value take
 * no place in it, so asking for such keys displaces none.
 */
export class StaleIfErrorCache<V> {
  #options: Options<V>;
  #known: BoundedCache<string, Known<V>>;
  /**
   * Loads under way: concurrent callers share one. Only the latest of a key is kept, and none whose key was forgotten
   * meanwhile.
   */
  #loading = new Map<string, Running<V>>();
  #has_failed = false;
  #retry_at_ms = 0;

  constructor(options: Options<V>) {
    this.#options = options;
    this.#known = new BoundedCache({ max: options.max });
  }

  /**
   * Returns synchronously when the value is fresh, or stale while none can be loaded. Otherwise a promise: of undefined when the
   * key has no value; it rejects when the load fails and no value is known. `load` replaces the load of the options.
   */
  get(key: string, load: Load<V> = this.#options.load): V | Promise<V | undefined> {
    const now_ms = this.#options.clock.now_ms();
    const known = this.#known.get(key);
    if (known !== undefined) {
      if (known.fresh_until_ms > now_ms) return known.value;
      if (now_ms - known.loaded_at_ms < MAX_STALE_MS) return this.#refresh(key, known, now_ms);
    }
    return this.#running(key) ?? this.#start(key, load);
  }

  /** Whether a value of this key is known, fresh or not. */
  has(key: string): boolean {
    return this.#known.has(key);
  }

  /** The next callers wait for a new value; if it cannot be loaded, they receive the last known one. */
  expire(key: string): void {
    const known = this.#known.peek(key);
    if (known !== undefined) known.fresh_until_ms = 0;
    const running = this.#loading.get(key);
    if (running !== undefined) running.is_expired = true;
  }

  /** As {@link expire}, for every key: to be called when changes may have been missed. */
  expireAll(): void {
    for (const known of this.#known.values()) known.fresh_until_ms = 0;
    for (const running of this.#loading.values()) running.is_expired = true;
  }

  /** Removes the value of a key: it is not returned again, also when no other can be loaded. */
  forget(key: string): void {
    this.#known.delete(key);
    this.#loading.delete(key);
  }

  #running(key: string): Promise<V | undefined> | undefined {
    const running = this.#loading.get(key);
    return running?.is_expired === false ? running.promise : undefined;
  }

  #refresh(key: string, known: Known<V>, now_ms: number): V | Promise<V | undefined> {
    const running = this.#running(key);
    if (running !== undefined) return known.is_stale ? this.#stale(known) : this.#wait(key, known, running);
    if (this.#loading.size >= MAX_LOADS) return this.#stale(known);
    if (!this.#has_failed) return this.#wait(key, known, this.#start(key, this.#options.load));
    if (now_ms >= this.#retry_at_ms) {
      this.#retry_at_ms = now_ms + RETRY_MS;
      // A failure is noted by the load itself.
      this.#start(key, this.#options.load).catch(() => undefined);
    }
    return this.#stale(known);
  }

  #stale(known: Known<V>): V {
    known.is_stale = true;
    this.#options.onStale();
    return known.value;
  }

  async #wait(key: string, known: Known<V>, loading: Promise<V | undefined>): Promise<V | undefined> {
    try {
      return await withinTime(PATIENCE_MS, loading);
    } catch (error) {
      // What was forgotten meanwhile is known to be wrong, and is not returned; what was loaded meanwhile is newer.
      const last = this.#known.peek(key);
      if (last === undefined) throw error;
      return last === known ? this.#stale(known) : last.value;
    }
  }

  #start(key: string, load: Load<V>): Promise<V | undefined> {
    if (this.#loading.size >= MAX_LOADS && !this.#loading.has(key))
      return Promise.reject(new TooManyLoads(this.#options.name));
    const { clock, fresh_ms } = this.#options;
    // Counted from the start of the load: the value may be as old as that.
    const loaded_at_ms = clock.now_ms();
    const isLatest = () => this.#loading.get(key) === running;
    const promise = load(key)
      .then(
        (value) => {
          const fresh_until_ms = running.is_expired ? 0 : loaded_at_ms + fresh_ms;
          this.#answered();
          if (isLatest()) this.#keep(key, value, { loaded_at_ms, fresh_until_ms });
          return value;
        },
        (error: unknown) => {
          this.#failed(error);
          throw error;
        },
      )
      .finally(() => {
        if (isLatest()) this.#loading.delete(key);
      });
    const running: Running<V> = { promise, is_expired: false };
    this.#loading.set(key, running);
    return promise;
  }

  #keep(key: string, value: V | undefined, times: Pick<Known<V>, 'loaded_at_ms' | 'fresh_until_ms'>): void {
    if (value === undefined) this.#known.delete(key);
    else this.#known.set(key, { value, ...times, is_stale: false });
  }

  #answered(): void {
    if (!this.#has_failed) return;
    this.#has_failed = false;
    // Notifications of changes may have been missed.
    this.expireAll();
    this.#options.logger.info({ cache: this.#options.name }, 'values are loaded again');
  }

  #failed(error: unknown): void {
    this.#retry_at_ms = this.#options.clock.now_ms() + RETRY_MS;
    if (this.#has_failed) return;
    this.#has_failed = true;
    const fields = { err: error, cache: this.#options.name };
    this.#options.logger.warn(fields, 'values cannot be loaded; the last known ones are used');
  }
}
