/** An event or an identify call that waits until the service has answered it. */
export interface Entry {
  /** Its place: entries are sent in this order. */
  seq: number;
  kind: 'event' | 'identify';
  /** Its JSON, and how many bytes that has. */
  json: string;
  bytes: number;
  at_ms: number;
  /** Of money, exclusions, limits or KYC: it is dropped after all others. */
  is_vital: boolean;
  /** The Idempotency-Key of the batch that it belongs to; absent: of none yet. */
  batch?: string;
}

/** What a queue and its batches hold at most. */
export interface Limits {
  entries: number;
  bytes: number;
  age_ms: number;
  batch_entries: number;
  batch_bytes: number;
}

/** `{"events":[` and `]}`; each event but one has a comma. */
export const AROUND_BYTES = 13;

/**
 * The entries that wait, in their order. Those of a batch are its first ones and stay together: what was sent under an
 * Idempotency-Key is sent again under the same, in the same order, or never. Pure: a store keeps what has `changed`.
 */
export class Queue {
  readonly entries: Entry[];
  /** What a store has to write, and to remove. */
  readonly changed = new Set<Entry>();
  readonly removed = new Set<Entry>();
  #bytes = 0;
  readonly #limits: Limits;

  constructor(entries: Entry[], limits: Limits) {
    this.entries = entries;
    this.#limits = limits;
    for (const { bytes } of entries) this.#bytes += bytes;
  }

  /** Adds an entry at the end. Returns what had to be dropped for it, which may be the entry itself. */
  push(entry: Omit<Entry, 'seq'>): Entry[] {
    const { entries } = this;
    const added = { ...entry, seq: (entries.at(-1)?.seq ?? 0) + 1 };
    entries.push(added);
    this.changed.add(added);
    this.#bytes += added.bytes;
    const dropped: Entry[] = [];
    while (entries.length > this.#limits.entries || this.#bytes > this.#limits.bytes) {
      const free = (one: Entry) => one.batch === undefined;
      let at = entries.findIndex((one) => free(one) && !one.is_vital);
      if (at < 0) at = entries.findIndex(free);
      dropped.push(...this.#remove(at, 1));
    }
    return dropped;
  }

  /** Removes what is too old; a batch as a whole. */
  expire(now_ms: number): Entry[] {
    const dropped: Entry[] = [];
    for (;;) {
      const [first] = this.entries;
      const group = first?.batch === undefined ? [first] : this.#batch(first.batch);
      const last = group.at(-1);
      if (last === undefined || now_ms - last.at_ms <= this.#limits.age_ms) return dropped;
      dropped.push(...this.#remove(0, group.length));
    }
  }

  /** The batch to send: the one that was not answered yet, or else one under this new key. Empty: nothing waits. */
  next(key: string): Entry[] {
    const [first] = this.entries;
    if (first === undefined) return [];
    if (first.batch === undefined) {
      let bytes = AROUND_BYTES;
      for (const [i, one] of this.entries.entries()) {
        bytes += one.bytes + 1;
        const { batch_entries, batch_bytes } = this.#limits;
        const fits = i < batch_entries && bytes <= batch_bytes && one.kind === first.kind;
        if (i > 0 && (!fits || one.kind === 'identify')) break;
        one.batch = key;
        this.changed.add(one);
      }
    }
    return this.#batch(first.batch);
  }

  /** Removes a batch that was answered. */
  done(key: string): void {
    if (this.entries[0]?.batch === key) this.#remove(0, this.#batch(key).length);
  }

  /** Removes one that could not be kept. */
  withdraw(entry: Entry): void {
    const at = this.entries.indexOf(entry);
    if (at >= 0) this.#remove(at, 1);
  }

  /** Divides a batch that was refused because it was too large: each half gets a key of its own. */
  split(key: string): void {
    const entries = this.#batch(key);
    for (const [i, one] of entries.entries()) {
      one.batch = `${key}.${i < entries.length / 2 ? 0 : 1}`;
      this.changed.add(one);
    }
  }

  #batch(key: string | undefined): Entry[] {
    const end = this.entries.findIndex((one) => one.batch !== key);
    return this.entries.slice(0, end < 0 ? undefined : end);
  }

  #remove(at: number, count: number): Entry[] {
    const removed = this.entries.splice(at, count);
    for (const one of removed) {
      this.#bytes -= one.bytes;
      this.changed.delete(one);
      this.removed.add(one);
    }
    return removed;
  }
}
