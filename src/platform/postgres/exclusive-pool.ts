import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { FairQueue, type QueueLimits } from '../fair-queue.ts';
import type { Driver } from './port.ts';

/** The driver closes a connection that was idle for so long. */
export const IDLE_TIMEOUT_S = 300;
/** So one that was idle for longer than this is not used any more: the driver may be closing it. */
const LONGEST_IDLE_MS = (IDLE_TIMEOUT_S - 5) * 1_000;
/** How long a discarded driver may take to settle the statements that it still holds. */
const LET_GO_MS = 1_000;

/** A driver with a single connection of its own. */
export interface ExclusiveConnection {
  sql: Driver;
  /** Called when the connection was closed. */
  onClosed: () => void;
  /** Since when nobody has it (`performance.now()`). */
  idle_since_ms: number;
  /** Whether it was closed, or may have been, since its caller has it: the driver may have replaced it. */
  is_lost: boolean;
}

/** The connection was lost, or the pool was closed. `code` is one of the driver's error codes. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly code: string;

  constructor(message: string, code: 'CONNECTION_CLOSED' | 'CONNECTION_ENDED') {
    super(message);
    this.code = code;
  }
}

/** Statements that were sent on a connection. */
interface Sent<T> {
  answer: Promise<T>;
  /** Resolves when the driver has settled all of them; it may never resolve. */
  settled: Promise<unknown>;
}

/** What a pool and its shares have in common. */
interface Connections {
  connect: (onClosed: () => void) => Driver;
  open: Set<ExclusiveConnection>;
  idle: ExclusiveConnection[];
  leaving: Set<Promise<void>>;
  /** The pool and its shares, in the order of their turns. */
  takers: Set<ExclusivePool>;
  is_closed: boolean;
}

/**
 * A pool of connections, each used by one caller at a time. When all connections are in use, callers wait in order of
 * arrival: as many and as long as `waiting` allows.
 *
 * Each connection has a driver instance of its own, instead of being part of the driver's pool. When the driver
 * replaces a lost connection, it continues with the state of the old one: it sends statements of the lost transaction
 * inside the next transaction, forgets waiting callers, resolves statements with the results of others, or never sends
 * anything again (porsager/postgres#1208, #1216). So a connection whose state is uncertain is discarded together with
 * its driver.
 */
export class ExclusivePool {
  readonly #connections: Connections;
  readonly #max: number;
  readonly #waiting: FairQueue<ExclusiveConnection>;
  readonly #whole: ExclusivePool | undefined;
  #taken = 0;

  /**
   * `connect` creates a driver with one connection, which calls `onClosed` when that connection closes. With a pool
   * instead, this is a share of it.
   */
  constructor(from: Connections['connect'] | ExclusivePool, max: number, waiting: QueueLimits) {
    const is_share = from instanceof ExclusivePool;
    this.#whole = is_share ? from : undefined;
    this.#connections = is_share
      ? from.#connections
      : {
          connect: from,
          open: new Set(),
          idle: [],
          leaving: new Set(),
          takers: new Set(),
          is_closed: false,
        };
    this.#max = max;
    this.#waiting = new FairQueue('a connection to Postgres', waiting);
    this.#connections.takers.add(this);
  }

  /**
   * A part for one purpose, with its own limits of waiting: it takes at most `max` of the connections at once, also while
   * others are idle. Shares that wait take turns.
   */
  share(max: number, waiting: QueueLimits): ExclusivePool {
    return new ExclusivePool(this, max, waiting);
  }

  /**
   * Returns an idle or a new connection, or waits for one. Rejects with TooBusy beyond the limits of waiting, and with
   * {@link ConnectionLost} after `close`.
   */
  async acquire(): Promise<ExclusiveConnection> {
    if (this.#connections.is_closed) throw ended();
    return this.#hasRoom() ? this.#take() : this.#waiting.join();
  }

  /** Returns a connection in a known state to the pool. */
  release(connection: ExclusiveConnection): void {
    connection.onClosed = () => undefined;
    connection.idle_since_ms = performance.now();
    this.#connections.idle.push(connection);
    this.#makeRoom();
  }

  /**
   * Removes a connection whose state is uncertain; called instead of `release`. A lost connection (`gone`) is replaced
   * at once; one that is still open counts towards the maximum until it is closed. `settled` resolves when the driver
   * has settled every statement that was sent; it may never resolve.
   */
  discard(connection: ExclusiveConnection, gone: boolean, settled: Promise<unknown>): void {
    connection.onClosed = () => undefined;
    this.#leave(connection, settled, () => {
      if (!gone) this.#makeRoom();
    });
    if (gone) this.#makeRoom();
  }

  #leave(connection: ExclusiveConnection, settled: Promise<unknown>, onLeft: () => void): void {
    const { open, leaving } = this.#connections;
    const left = letGo(connection, settled).finally(() => {
      leaving.delete(left);
      onLeft();
    });
    leaving.add(left);
    open.delete(connection);
  }

  /**
   * Gives `work` a connection, which is discarded afterwards when it was lost or its state is uncertain after the error of
   * `work`. Rejects as `work` and `acquire` do.
   */
  async use<T>(work: (connection: ExclusiveConnection) => Promise<T>): Promise<T> {
    const connection = await this.acquire();
    let is_closed = false;
    connection.onClosed = () => {
      is_closed = connection.is_lost = true;
    };
    try {
      return await work(connection);
    } catch (error) {
      connection.is_lost ||= isDoubtful(error);
      throw error;
    } finally {
      if (connection.is_lost) this.discard(connection, is_closed, Promise.resolve());
      else this.release(connection);
    }
  }

  /**
   * Sends statements on a connection, and settles as their answer does; rejects with {@link ConnectionLost} when the
   * connection is lost before.
   */
  async ask<T>(send: (sql: Driver) => Sent<T>): Promise<T> {
    const connection = await this.acquire();
    const closed = new Promise<never>((_resolve, reject) => {
      connection.onClosed = () => reject(lost());
    });
    let sent: Sent<T> | undefined;
    try {
      sent = send(connection.sql);
      const result = await Promise.race([sent.answer, closed]);
      this.release(connection);
      return result;
    } catch (error) {
      if (isRefusal(error)) this.release(connection);
      else this.discard(connection, isConnectionError(error), sent?.settled ?? Promise.resolve());
      throw error;
    }
  }

  /** Rejects further callers, also of shares, and gives running statements at most `timeout_s` to finish. */
  async close(timeout_s: number): Promise<void> {
    const { open, takers, leaving } = this.#connections;
    this.#connections.is_closed = true;
    for (const taker of takers) taker.#waiting.refuseAll(ended());
    await Promise.all([...open].map((connection) => connection.sql.end({ timeout: timeout_s })));
    await Promise.all(leaving);
  }

  #hasRoom(): boolean {
    return this.#taken < this.#max && (this.#whole === undefined || this.#whole.#hasRoom());
  }

  #count(difference: 1 | -1): void {
    this.#taken += difference;
    if (this.#whole !== undefined) this.#whole.#count(difference);
  }

  /** There is an idle connection, or room for another one, while the whole pool has room. */
  #take(): ExclusiveConnection {
    this.#count(1);
    const { idle } = this.#connections;
    for (let next = idle.pop(); next !== undefined; next = idle.pop()) {
      if (performance.now() - next.idle_since_ms < LONGEST_IDLE_MS) return next;
      this.#leave(next, Promise.resolve(), () => undefined);
    }
    return this.#open();
  }

  #open(): ExclusiveConnection {
    const connection: ExclusiveConnection = {
      sql: this.#connections.connect(() => connection.onClosed()),
      onClosed: () => undefined,
      idle_since_ms: 0,
      is_lost: false,
    };
    this.#connections.open.add(connection);
    return connection;
  }

  /** Lets one caller that waits, of this or another share, have the room of one that ends. */
  #makeRoom(): void {
    this.#count(-1);
    const { takers, is_closed } = this.#connections;
    if (is_closed) return;
    for (const taker of takers) {
      if (taker.#waiting.isEmpty || !taker.#hasRoom()) continue;
      takers.delete(taker);
      takers.add(taker);
      taker.#waiting.serve(taker.#take());
      return;
    }
  }
}

/**
 * Ends the driver when it holds no statement any more, or after {@link LET_GO_MS}. For a statement that it still holds
 * it would connect again, and stay connected.
 */
async function letGo({ sql }: ExclusiveConnection, settled: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  const late = sleep(LET_GO_MS, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([settled, late]);
  timer.abort();
  await sql.end({ timeout: 0 });
}

function ended(): ConnectionLost {
  return new ConnectionLost('the connections to Postgres were closed', 'CONNECTION_ENDED');
}

/** The error of a statement after the connection was closed. */
export function lost(): ConnectionLost {
  return new ConnectionLost('the connection to Postgres was lost', 'CONNECTION_CLOSED');
}

/**
 * Whether Postgres refused a statement and keeps the connection usable. After any other error the state of the
 * connection is uncertain.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'ERROR';
}

/** Whether the connection was lost or could not be made. */
export function isConnectionError(error: unknown): boolean {
  const { code } = error as { code?: string };
  return error instanceof postgres.PostgresError || /^(E[A-Z_]+|CONNECT\w+)$/.test(code ?? '');
}

/**
 * Whether the state of the connection is uncertain after `failure`. It is not after an error of `work` or a refusal by
 * Postgres, because the rollback that followed succeeded.
 */
export function isDoubtful(failure: unknown): boolean {
  return failure !== undefined && !isRefusal(failure) && isConnectionError(failure);
}
