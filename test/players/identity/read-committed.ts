/**
 * Postgres as far as the order of things goes: transactions at READ COMMITTED, statement by statement. A statement sees
 * what was committed when it began, and what its own transaction wrote before. A writer waits for the row's other
 * writer, and then goes on with what that one left (or skips the row that is gone); a circle of waiting breaks by an
 * error; a key is taken once. Statements are generators: each `yield` is a moment at which another transaction may run.
 */

export type Steps<T = void> = Generator<undefined, T, undefined>;

/** What Postgres says by SQLSTATE: 23505 a key was taken, 40P01 a deadlock was broken. */
export class SqlError extends Error {
  override readonly name = 'SqlError';
  readonly code: '23505' | '40P01';

  constructor(code: '23505' | '40P01') {
    super(code);
    this.code = code;
  }
}

interface Version<V> {
  /** Undefined: deleted. */
  value: V | undefined;
  /** Number of the commit that made it. */
  committed: number;
}

/** One key of a table with everything that was ever committed under it. */
class Row<V = unknown> {
  readonly versions: Version<V>[] = [];
  /** Who has locked or written it and has not ended yet. */
  owner: Transaction | undefined;
  isWritten = false;
  /** What the owner wrote; undefined: deleted by it. */
  written: V | undefined;

  /** The newest state, for its owner or for one who waited for the last owner to end. */
  latest(): V | undefined {
    return this.isWritten ? this.written : this.versions.at(-1)?.value;
  }

  /** The state that a statement of `tx` sees. */
  seenBy(tx: Transaction): V | undefined {
    // What the statement itself writes it does not see, but no statement here reads a row after it wrote it.
    if (this.owner === tx && this.isWritten) return this.written;
    for (let i = this.versions.length - 1; i >= 0; i--) {
      const version = this.versions[i];
      if (version !== undefined && version.committed <= tx.snapshot) return version.value;
    }
    return undefined;
  }
}

export class Database {
  /** How many transactions were committed. */
  commits = 0;
}

export class Transaction {
  readonly database: Database;
  readonly owned = new Set<Row>();
  /** The commit up to which the running statement sees. */
  snapshot: number;
  waits_for: Transaction | undefined;
  hasEnded = false;

  constructor(database: Database) {
    this.database = database;
    this.snapshot = database.commits;
  }

  /** Begins a statement: others may run before it does. */
  *statement(): Steps {
    yield;
    this.snapshot = this.database.commits;
  }

  /** Begins a statement that writes: others may also run once it has taken its snapshot. */
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

  /** Whether it can do anything now. */
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

  /** What the running statement sees under the key. */
  read(tx: Transaction, key: string): V | undefined {
    return this.#rows.get(key)?.seenBy(tx);
  }

  /** Everything the running statement sees. */
  readAll(tx: Transaction): V[] {
    return [...this.#rows.values()].map((row) => row.seenBy(tx)).filter((value) => value !== undefined);
  }

  /** What is committed under the key. */
  committedAt(key: string): V | undefined {
    return this.#rows.get(key)?.versions.at(-1)?.value;
  }

  /** Everything that is committed, by key. */
  committed(): Map<string, V> {
    const all = new Map<string, V>();
    for (const [key, row] of this.#rows) {
      const value = row.versions.at(-1)?.value;
      if (value !== undefined) all.set(key, value);
    }
    return all;
  }

  /** `select … for update` of one key: its newest state, or undefined where there is none (any more). */
  *lock(tx: Transaction, key: string): Steps<V | undefined> {
    const row = this.#rows.get(key);
    if (row?.seenBy(tx) === undefined) return undefined;
    yield* own(tx, row);
    return row.latest();
  }

  /**
   * Updates a row that the statement sees and that is still there when its turn comes: the new value, or undefined.
   * `change` answers undefined where the condition does not hold for the newest state.
   */
  *update(tx: Transaction, key: string, change: (value: V) => V | undefined): Steps<V | undefined> {
    const value = yield* this.lock(tx, key);
    const changed = value === undefined ? undefined : change(value);
    if (changed !== undefined) this.#write(key, changed);
    return changed;
  }

  /** Deletes a row that the statement sees and that is still there; what it was. */
  *delete(tx: Transaction, key: string): Steps<V | undefined> {
    const value = yield* this.lock(tx, key);
    if (value !== undefined) this.#write(key, undefined);
    return value;
  }

  /** `insert`; throws 23505 when the key is taken. */
  *insert(tx: Transaction, key: string, value: V): Steps {
    if (!(yield* this.tryInsert(tx, key, value))) throw new SqlError('23505');
  }

  /** `insert … on conflict do nothing`: false when the key is taken. */
  *tryInsert(tx: Transaction, key: string, value: V): Steps<boolean> {
    const row = this.#rowOf(key);
    // Somebody who only locked the row does not matter; who inserts, changes or deletes it may still take it back.
    while (row.owner !== undefined && row.owner !== tx && row.isWritten) yield* wait(tx, row.owner);
    if (row.latest() !== undefined) return false;
    yield* own(tx, row);
    this.#write(key, value);
    return true;
  }

  /** `insert … on conflict do update … where`: false when neither was possible. */
  *upsert(tx: Transaction, key: string, value: V, change: (value: V) => V | undefined): Steps<boolean> {
    if (yield* this.tryInsert(tx, key, value)) return true;
    const row = this.#rowOf(key);
    yield* own(tx, row);
    const before = row.latest();
    // Deleted since: rows that are written so are never deleted.
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

/** Waits for the row's other owners, and owns it until the transaction ends. */
function* own<V>(tx: Transaction, row: Row<V>): Steps {
  while (row.owner !== undefined && row.owner !== tx) yield* wait(tx, row.owner);
  row.owner = tx;
  tx.owned.add(row);
}

/** Waits until the other transaction has ended; throws 40P01 when that one waits for this one. */
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
