/**
 * A model of Postgres' concurrency: transactions at READ COMMITTED, statement by statement. A statement sees what was
 * committed when it began, and what its own transaction wrote before. A writer waits for another writer of the row, and
 * then continues with that one's result (or skips a deleted row). A cycle of waits ends with an error. A key is unique.
 * Statements are generators: at each `yield` another transaction may run.
 */

export type Steps<T = void> = Generator<undefined, T, undefined>;

/** A SQLSTATE of Postgres: 23505 is a unique violation, 40P01 a detected deadlock. */
export class SqlError extends Error {
  override readonly name = 'SqlError';
  readonly code: '23505' | '40P01';

  constructor(code: '23505' | '40P01') {
    super(code);
    this.code = code;
  }
}

interface Version<V> {
  /** Undefined means deleted. */
  value: V | undefined;
  /** Number of the commit that wrote it. */
  committed: number;
}

/** One key of a table with all its committed versions. */
class Row<V = unknown> {
  readonly versions: Version<V>[] = [];
  /** The running transaction that has locked or written the row. */
  owner: Transaction | undefined;
  isWritten = false;
  /** The owner's uncommitted value; undefined means deleted. */
  written: V | undefined;

  /** The newest value, for the owner and for a transaction that has waited for the last owner. */
  latest(): V | undefined {
    return this.isWritten ? this.written : this.versions.at(-1)?.value;
  }

  /** The value that a statement of `tx` sees. */
  seenBy(tx: Transaction): V | undefined {
    // In Postgres a statement does not see its own writes, but no statement of the model reads a row after writing it.
    if (this.owner === tx && this.isWritten) return this.written;
    for (let i = this.versions.length - 1; i >= 0; i--) {
      const version = this.versions[i];
      if (version !== undefined && version.committed <= tx.snapshot) return version.value;
    }
    return undefined;
  }
}

export class Database {
  /** The number of commits. */
  commits = 0;
}

export class Transaction {
  readonly database: Database;
  readonly owned = new Set<Row>();
  /** The running statement sees commits up to this number. */
  snapshot: number;
  waits_for: Transaction | undefined;
  hasEnded = false;

  constructor(database: Database) {
    this.database = database;
    this.snapshot = database.commits;
  }

  /** Begins a statement; other transactions may run before it. */
  *statement(): Steps {
    yield;
    this.snapshot = this.database.commits;
  }

  /** Begins a statement that writes; other transactions may also run after it has taken its snapshot. */
  *writing(): Steps {
    yield* this.statement();
    yield;
  }

  commit(): void {
    this.database.commits++;
    for (const row of this.owned) {
      if (row.isWritten) row.versions.push({ value: row.written, committed: this.database.commits });
    }
    this.#end();
  }

  rollback(): void {
    this.#end();
  }

  /** Whether it waits for another transaction. */
  isBlocked(): boolean {
    return this.waits_for !== undefined && !this.waits_for.hasEnded;
  }

  #end(): void {
    for (const row of this.owned) {
      row.owner = undefined;
      row.isWritten = false;
      row.written = undefined;
    }
    this.hasEnded = true;
  }
}

export class Table<V> {
  readonly #rows = new Map<string, Row<V>>();

  /** The value that the running statement sees under the key. */
  read(tx: Transaction, key: string): V | undefined {
    return this.#rows.get(key)?.seenBy(tx);
  }

  /** All values that the running statement sees. */
  readAll(tx: Transaction): V[] {
    return [...this.#rows.values()].map((row) => row.seenBy(tx)).filter((value) => value !== undefined);
  }

  /** The committed value of the key. */
  committedAt(key: string): V | undefined {
    return this.#rows.get(key)?.versions.at(-1)?.value;
  }

  /** All committed values, by key. */
  committed(): Map<string, V> {
    const all = new Map<string, V>();
    for (const [key, row] of this.#rows) {
      const value = row.versions.at(-1)?.value;
      if (value !== undefined) all.set(key, value);
    }
    return all;
  }

  /** `select … for update` of one key: its newest value; undefined when it does not exist or was deleted. */
  *lock(tx: Transaction, key: string): Steps<V | undefined> {
    const row = this.#rows.get(key);
    if (row?.seenBy(tx) === undefined) return undefined;
    yield* own(tx, row);
    return row.latest();
  }

  /**
   * Updates a row that the statement sees and that still exists when the lock is granted. Returns the new value, or
   * undefined when nothing was updated. `change` returns undefined when the condition does not hold for the newest
   * value.
   */
  *update(tx: Transaction, key: string, change: (value: V) => V | undefined): Steps<V | undefined> {
    const value = yield* this.lock(tx, key);
    const changed = value === undefined ? undefined : change(value);
    if (changed !== undefined) this.#write(key, changed);
    return changed;
  }

  /** Deletes a row that the statement sees and that still exists; returns its value. */
  *delete(tx: Transaction, key: string): Steps<V | undefined> {
    const value = yield* this.lock(tx, key);
    if (value !== undefined) this.#write(key, undefined);
    return value;
  }

  /** `insert`; throws 23505 when the key exists. */
  *insert(tx: Transaction, key: string, value: V): Steps {
    if (!(yield* this.tryInsert(tx, key, value))) throw new SqlError('23505');
  }

  /** `insert … on conflict do nothing`; returns false when the key exists. */
  *tryInsert(tx: Transaction, key: string, value: V): Steps<boolean> {
    const row = this.#rowOf(key);
    // A mere row lock does not block an insert; an uncommitted insert, update or delete does, because it may roll back.
    while (row.owner !== undefined && row.owner !== tx && row.isWritten) yield* wait(tx, row.owner);
    if (row.latest() !== undefined) return false;
    yield* own(tx, row);
    this.#write(key, value);
    return true;
  }

  /** `insert … on conflict do update … where`; returns false when neither was possible. */
  *upsert(tx: Transaction, key: string, value: V, change: (value: V) => V | undefined): Steps<boolean> {
    if (yield* this.tryInsert(tx, key, value)) return true;
    const row = this.#rowOf(key);
    yield* own(tx, row);
    const before = row.latest();
    // Rows that are upserted are never deleted in this model.
    if (before === undefined) throw new Error(`${key} was deleted`);
    const changed = change(before);
    if (changed !== undefined) this.#write(key, changed);
    return changed !== undefined;
  }

  #rowOf(key: string): Row<V> {
    let row = this.#rows.get(key);
    if (row === undefined) this.#rows.set(key, (row = new Row<V>()));
    return row;
  }

  #write(key: string, value: V | undefined): void {
    const row = this.#rowOf(key);
    row.isWritten = true;
    row.written = value;
  }
}

/** Waits for the row's owner, then owns the row until the transaction ends. */
function* own<V>(tx: Transaction, row: Row<V>): Steps {
  while (row.owner !== undefined && row.owner !== tx) yield* wait(tx, row.owner);
  row.owner = tx;
  tx.owned.add(row);
}

/** Waits until the other transaction has ended; throws 40P01 when that one waits, directly or not, for this one. */
function* wait(tx: Transaction, other: Transaction): Steps {
  for (
    let next: Transaction | undefined = other;
    next !== undefined && !next.hasEnded;
    next = next.waits_for
  ) {
    if (next === tx) throw new SqlError('40P01');
  }
  tx.waits_for = other;
  yield;
  tx.waits_for = undefined;
}
