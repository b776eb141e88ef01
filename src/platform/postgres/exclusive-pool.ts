import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { WaitingLine, type WaitingLimits } from '../waiting-line.ts';
import type { Db } from './port.ts';

/** How long a discarded driver may take to settle the statements that it still holds. */
const LET_GO_MS = 1_000;

/** A driver with a single connection of its own. */
export interface ExclusiveConnection {
  sql: Db;
  /** Called when the connection was closed. */
  onClosed: () => void;
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
  #connect: (onClosed: () => void) => Db;
  #max: number;
  #connections = new Set<ExclusiveConnection>();
  #idle: ExclusiveConnection[] = [];
  #waiting: WaitingLine<ExclusiveConnection>;
  #leaving = new Set<Promise<void>>();
  #closed = false;

  /** `connect` creates a driver with one connection, which calls `onClosed` when that connection closes. */
  constructor(connect: (onClosed: () => void) => Db, max: number, waiting: WaitingLimits) {
    this.#connect = connect;
    this.#max = max;
    this.#waiting = new WaitingLine('a connection to Postgres', waiting);
  }

  /**
   * Returns an idle or a new connection, or waits for one. Rejects with TooBusy beyond the limits of waiting, and with
   * {@link ConnectionLost} after `close`.
   */
  async acquire(): Promise<ExclusiveConnection> {
    if (this.#closed) throw ended();
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#connections.size < this.#max) return this.#open();
    return this.#waiting.join();
  }

  /** Returns a connection in a known state to the pool. */
  release(connection: ExclusiveConnection): void {
    connection.onClosed = () => undefined;
    if (!this.#waiting.serve(connection)) this.#idle.push(connection);
  }

  /**
   * Removes a connection whose state is uncertain; called instead of `release`. A lost connection (`gone`) is replaced
   * at once; one that is still open counts towards the maximum until it is closed. `settled` resolves when the driver
   * has settled every statement that was sent; it may never resolve.
   */
  discard(connection: ExclusiveConnection, gone: boolean, settled: Promise<unknown>): void {
    connection.onClosed = () => undefined;
    const leaving = letGo(connection, settled).finally(() => {
      this.#leaving.delete(leaving);
      if (!gone) this.#replace(connection);
    });
    this.#leaving.add(leaving);
    if (gone) this.#replace(connection);
  }

  /** Rejects further callers and gives running statements at most `timeout_s` to finish. */
  async close(timeout_s: number): Promise<void> {
    this.#closed = true;
    this.#waiting.refuseAll(ended());
    await Promise.all([...this.#connections].map((connection) => connection.sql.end({ timeout: timeout_s })));
    await Promise.all(this.#leaving);
  }

  #open(): ExclusiveConnection {
    const connection: ExclusiveConnection = {
      sql: this.#connect(() => connection.onClosed()),
      onClosed: () => undefined,
    };
    this.#connections.add(connection);
    return connection;
  }

  #replace(connection: ExclusiveConnection): void {
    this.#connections.delete(connection);
    if (!this.#waiting.isEmpty) this.#waiting.serve(this.#open());
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
