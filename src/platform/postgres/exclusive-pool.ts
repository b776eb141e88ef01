import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import type { Db } from './port.ts';

/** How long a driver that was given up may take for what it still holds. */
const LET_GO_MS = 1_000;

/** A driver with a single connection of its own. */
export interface ExclusiveConnection {
  sql: Db;
  /** Called when the connection was closed. */
  onClosed: () => void;
}

interface Waiting {
  resolve: (connection: ExclusiveConnection) => void;
  reject: (error: Error) => void;
}

/** There is no connection any more; the codes are the driver's. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly code: string;

  constructor(message: string, code: 'CONNECTION_CLOSED' | 'CONNECTION_ENDED') {
    super(message);
    this.code = code;
  }
}

/**
 * Connections that are given to one user at a time; more users than connections wait in order of arrival.
 *
 * A driver of its own per connection, instead of the driver's pool: on a connection that was lost and made anew, the
 * driver goes on where the old one ended. It sends statements of a transaction that is gone within the next one,
 * forgets who waits, hands answers to the wrong statements, or never sends anything again (porsager/postgres#1208,
 * #1216). So a connection about which anything is in doubt is given up with its driver.
 */
export class ExclusivePool {
  #connect: (onClosed: () => void) => Db;
  #max: number;
  #connections = new Set<ExclusiveConnection>();
  #idle: ExclusiveConnection[] = [];
  #waiting: Waiting[] = [];
  #leaving = new Set<Promise<void>>();
  #closed = false;

  /** `connect` makes a driver with one connection, and has it report that connection's end. */
  constructor(connect: (onClosed: () => void) => Db, max: number) {
    this.#connect = connect;
    this.#max = max;
  }

  /** Rejects once the pool are closed. */
  async acquire(): Promise<ExclusiveConnection> {
    if (this.#closed) throw ended();
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#connections.size < this.#max) return this.#open();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  release(connection: ExclusiveConnection): void {
    connection.onClosed = () => undefined;
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(connection);
    else next.resolve(connection);
  }

  /**
   * Instead of `release`, when the connection is in doubt. A lost connection (`gone`) is replaced at once; one that is
   * still there counts until it is closed. `settled` resolves when the driver has dealt with all that was sent; it may
   * never.
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

  /** Refuses further users and lets those under way finish for at most `timeout_s`. */
  async close(timeout_s: number): Promise<void> {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(ended());
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
    if (this.#waiting.length > 0) this.#waiting.shift()?.resolve(this.#open());
  }
}

/** Ends the driver, once it holds nothing: for what it still holds it would connect again, and stay connected. */
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

/** Whether Postgres refused a statement and goes on listening: anything else leaves the connection in doubt. */
export function isRefusal(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'ERROR';
}

/** Whether the connection was lost or could not be made. */
export function isConnectionError(error: unknown): boolean {
  const { code } = error as { code?: string };
  return error instanceof postgres.PostgresError || /^(E[A-Z_]+|CONNECT\w+)$/.test(code ?? '');
}
