import { writeExactly } from '../write.ts';
import { backOffMs, verdictOf, type Answer } from './answers.ts';
import { AROUND_BYTES, type Entry, type Queue } from './queue.ts';

/** Keeps the queue. `update` runs `work` on it alone, and resolves when what it changed is kept. */
export interface Store {
  update<T>(work: (queue: Queue) => T): Promise<T>;
}

/** A request of the sender. */
export interface Sent {
  kind: Entry['kind'];
  body: string;
  /** The Idempotency-Key of a batch. */
  key: string;
  signal: AbortSignal;
}

/** What the sender needs of its surroundings, so that it depends on no clock, network or storage itself. */
export interface Surroundings {
  store: Store;
  now_ms: () => number;
  /** At least 0, below 1. */
  random: () => number;
  newId: () => string;
  sleep: (ms: number) => Promise<void>;
  /** Rejects when there is no answer. */
  post: (request: Sent) => Promise<Answer>;
  /** Runs `work` while nobody else sends from the same store. */
  exclusively: (work: () => Promise<void>) => Promise<void>;
}

/** The JSON of an event or an identify call. */
export type Content = Record<string, unknown>;

/** Why an event or an identify call, or a part of one, is not in the service. */
export interface Lost {
  content: Content;
  /** A code of the service's error table, or one of these. */
  code: 'QUEUE_FULL' | 'TOO_OLD' | 'TOO_LARGE' | 'BASE_URL_MISSING' | 'IGNORED' | (string & {});
  /** What the service says about an event. With IGNORED: the ids and traits, such as `anonymous_id, traits.email`. */
  reason?: string;
}

/** What may be called when something does not go as wished. What they throw is ignored. */
export interface Callbacks {
  /**
   * The service refused an event of an accepted batch, or ignored ids and traits of an identify call because its `user_hash`
   * is missing or wrong (code `IGNORED`); the rest of the batch or call counts.
   */
  onReject?: ((lost: Lost) => void) | undefined;
  /** An event or identify call was dropped. */
  onDrop?: ((lost: Lost) => void) | undefined;
  /** The key was refused (401): nothing is sent any more by this client. What waits stays. */
  onStop?: ((code: string) => void) | undefined;
}

/** How many events and identify calls there were since the client was created. */
export interface Counts {
  accepted: number;
  rejected: number;
  dropped: number;
}

export interface SenderOptions extends Callbacks {
  /** Sends at once when so many were added, and otherwise after that time. */
  flush_entries: number;
  flush_ms: number;
}

const VITAL =
  /^(deposit|withdrawal|balance|bet|sport|self_exclusion|cooldown|loss_limit|session_limit|reality|kyc)_/;

/** Whether the event is about money, exclusions, limits or KYC: it is dropped last, and kept in the spool. */
export function isVital(event: string): boolean {
  return VITAL.test(event);
}

const encoder = new TextEncoder();

/** A request has at most so many bytes; less than the service takes. */
export const BATCH_BYTES = 256 * 1024;

/** Sends what is added, batch by batch in its order, until each is answered. */
export class Sender {
  readonly counts: Counts;
  readonly #options: SenderOptions;
  readonly #around: Surroundings;
  #added = 0;
  #failures = 0;
  /** Nothing is sent any more; `closed`: nothing is taken either. */
  #is_stopped = false;
  #is_closed = false;
  #sending: Promise<void> | undefined;
  /** Something may wait that the present round has not seen. */
  #is_wanted = false;
  #is_scheduled = false;
  #pausing: { is_asked: boolean; end: () => void } | undefined;
  readonly #abort = new AbortController();

  /** `counts` may be those of an earlier sender, which go on. */
  constructor(
    options: SenderOptions,
    around: Surroundings,
    counts: Counts = { accepted: 0, rejected: 0, dropped: 0 },
  ) {
    this.#options = options;
    this.#around = around;
    this.counts = counts;
  }

  /** Adds an event or identify call. Resolves when it is kept; rejects when it is not. */
  async add(kind: Entry['kind'], content: Content): Promise<void> {
    const json = writeExactly(content);
    const bytes = encoder.encode(json).length;
    const is_vital = isVital(String(content['event']));
    if (bytes > BATCH_BYTES - AROUND_BYTES) return this.#drop('TOO_LARGE', [{ json }]);
    const at_ms = this.#around.now_ms();
    const dropped = await this.#around.store.update((queue) =>
      // Closed while the store was opened: what is added after that would stay.
      this.#is_closed ? [] : queue.push({ kind, json, bytes, at_ms, is_vital }),
    );
    this.#drop('QUEUE_FULL', dropped);
    if (++this.#added >= this.#options.flush_entries) void this.flush();
    else this.#schedule();
  }

  /** Sends now. Resolves when nothing waits, or nothing is sent any more. */
  flush(): Promise<void> {
    this.#added = 0;
    this.#is_wanted = true;
    if (this.#pausing?.is_asked === false) this.#pausing.end();
    return (this.#sending ??= this.#send());
  }

  /** Takes and sends nothing any more, and gives up the request that is on its way. */
  close(): void {
    this.#is_closed = true;
    this.#is_stopped = true;
    this.#abort.abort();
    this.#pausing?.end();
  }

  #schedule(): void {
    if (this.#is_scheduled) return;
    this.#is_scheduled = true;
    void this.#around.sleep(this.#options.flush_ms).then(() => {
      this.#is_scheduled = false;
      if (this.#pausing === undefined) void this.flush();
    });
  }

  async #send(): Promise<void> {
    try {
      while (this.#is_wanted && !this.#is_stopped) {
        this.#is_wanted = false;
        try {
          await this.#around.exclusively(() => this.#drain());
        } catch {
          // The lock failed.
          this.#is_wanted = true;
          await this.#pause(undefined, true);
        }
      }
    } finally {
      this.#sending = undefined;
    }
  }

  async #drain(): Promise<void> {
    const { store, now_ms, newId } = this.#around;
    while (!this.#is_stopped) {
      try {
        const { old, batch } = await store.update((queue) => ({
          old: queue.expire(now_ms()),
          batch: queue.next(newId()),
        }));
        this.#drop('TOO_OLD', old);
        if (batch.length === 0) return;
        await this.#deliver(batch);
      } catch {
        // The store failed.
        await this.#pause(undefined, true);
      }
    }
  }

  /** Sends one batch, and pauses when it is to be sent again. */
  async #deliver(batch: readonly Entry[]): Promise<void> {
    const { store, post } = this.#around;
    const { kind, batch: key = '', json } = batch[0] as Entry;
    const body = kind === 'identify' ? json : `{"events":[${batch.map((one) => one.json).join()}]}`;
    const request = { kind, body, key, signal: this.#abort.signal };
    const answer = await post(request).catch((): Answer => ({ status: 0 }));
    if (this.#is_stopped) return;
    const verdict = verdictOf(answer, kind);
    if (verdict.kind === 'retry') return this.#pause(verdict.after_ms, verdict.is_counted);
    if (verdict.kind === 'stop') {
      this.#is_stopped = true;
      return attempt(() => this.#options.onStop?.(verdict.code));
    }
    this.#failures = 0;
    if (verdict.kind === 'split' && batch.length > 1) return store.update((queue) => queue.split(key));
    await store.update((queue) => queue.done(key));
    if (verdict.kind !== 'done')
      return this.#drop(verdict.kind === 'split' ? 'TOO_LARGE' : verdict.code, batch);
    const { rejected } = verdict;
    // An identify call is there without what was ignored of it.
    const refused = kind === 'identify' ? 0 : rejected.length;
    this.counts.accepted += batch.length - refused;
    this.counts.rejected += refused;
    for (const { index, code, reason } of rejected)
      this.#tell(this.#options.onReject, batch[index], { code, reason });
  }

  /** Waits before the next attempt. Nothing but `close` ends a wait early that the service asked for. */
  async #pause(after_ms: number | undefined, is_counted: boolean): Promise<void> {
    const { sleep, random } = this.#around;
    if (is_counted) this.#failures++;
    const back_off_ms = backOffMs(this.#failures, random());
    const pause_ms =
      after_ms === undefined ? back_off_ms : Math.max(after_ms, back_off_ms) + backOffMs(1, random());
    const ended = new Promise<void>((end) => (this.#pausing = { is_asked: after_ms !== undefined, end }));
    if (!this.#is_stopped) await Promise.race([sleep(pause_ms), ended]);
    this.#pausing = undefined;
  }

  #drop(code: string, dropped: readonly Pick<Entry, 'json'>[]): void {
    this.counts.dropped += dropped.length;
    for (const one of dropped) this.#tell(this.#options.onDrop, one, { code });
  }

  #tell(
    callback: ((lost: Lost) => void) | undefined,
    entry: Pick<Entry, 'json'> | undefined,
    why: Omit<Lost, 'content'>,
  ): void {
    if (callback !== undefined && entry !== undefined)
      attempt(() => callback({ content: JSON.parse(entry.json) as Content, ...why }));
  }
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // A callback of the caller must not end the sending.
  }
}
