import { setTimeout as sleep } from 'node:timers/promises';
import postgres, { type PendingQuery, type Row } from 'postgres';
import type { Db, Tx } from './port.ts';

/** How long a driver that was given up may take for what it still holds. */
const LET_GO_MS = 1_000;

interface Lane {
  /** The driver with a single connection of its own. */
  sql: Db;
  /** Called when the connection was closed. */
  onClosed: () => void;
  /** Resolves when the driver has dealt with all that was sent; it may never. */
  settled: Promise<unknown>;
}

interface Waiting {
  resolve: (lane: Lane) => void;
  reject: (error: Error) => void;
}

/** There is no connection for a read any more; the codes are the driver's. */
class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly code: string;

  constructor(message: string, code: 'CONNECTION_CLOSED' | 'CONNECTION_ENDED') {
    super(message);
    this.code = code;
  }
}

/**
 * Reads of one statement in one round trip: `begin`, the tenant, the statement and `commit` are sent without waiting
 * in between. Each read has a connection to itself meanwhile; more reads than connections wait in order of arrival.
 *
 * A driver of its own per connection, instead of the driver's pool and `reserve()`: that one forgets who waits for a
 * connection when another connection closes, and what waits behind a statement that is still being described when its
 * own does. It also takes statements between the error and the end of a connection, and would hand their answers to
 * the wrong reads later. So a connection about which anything is in doubt is given up with its driver.
 */
export class OneTripReader {
  #connect: (onClosed: () => void) => Db;
  #max: number;
  #lanes = new Set<Lane>();
  #idle: Lane[] = [];
  #waiting: Waiting[] = [];
  #leaving = new Set<Promise<void>>();
  #closed = false;

  /** `connect` makes a driver with one connection, and has it report that connection's end. */
  constructor(connect: (onClosed: () => void) => Db, max: number) {
    this.#connect = connect;
    this.#max = max;
  }

  /**
   * The rows of `statement`, bound to the tenant; `tenant_id` must be a UUID. A read that loses its connection is asked
   * once more on a new one: connections also end by age, and a read leaves nothing behind.
   */
  async read<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
  ): Promise<Result[]> {
    try {
      return await this.#attempt(tenant_id, statement);
    } catch (error) {
      if (!isLoss(error)) throw error;
      return this.#attempt(tenant_id, statement);
    }
  }

  /** Refuses further reads and lets those under way finish for at most `timeout_s`. */
  async close(timeout_s: number): Promise<void> {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(ended());
    await Promise.all([...this.#lanes].map((lane) => lane.sql.end({ timeout: timeout_s })));
    await Promise.all(this.#leaving);
  }

  async #attempt<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
  ): Promise<Result[]> {
    const lane = await this.#take();
    const closed = new Promise<never>((_resolve, reject) => {
      lane.onClosed = () =>
        reject(new ConnectionLost('the connection to Postgres was lost', 'CONNECTION_CLOSED'));
    });
    let failure: unknown;
    try {
      return await Promise.race([roundTrip(lane, tenant_id, statement), closed]);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      lane.onClosed = () => undefined;
      if (failure === undefined || isRefusal(failure)) this.#giveBack(lane);
      else this.#giveUp(lane, isConnectionError(failure));
    }
  }

  async #take(): Promise<Lane> {
    if (this.#closed) throw ended();
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#lanes.size < this.#max) return this.#open();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #open(): Lane {
    const lane: Lane = {
      sql: this.#connect(() => lane.onClosed()),
      onClosed: () => undefined,
      settled: Promise.resolve(),
    };
    this.#lanes.add(lane);
    return lane;
  }

  #giveBack(lane: Lane): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(lane);
    else next.resolve(lane);
  }

  /** A lost connection is replaced at once; one that is still there counts until it is closed. */
  #giveUp(lane: Lane, gone: boolean): void {
    const leaving = letGo(lane).finally(() => {
      this.#leaving.delete(leaving);
      if (!gone) this.#replace(lane);
    });
    this.#leaving.add(leaving);
    if (gone) this.#replace(lane);
  }

  #replace(lane: Lane): void {
    this.#lanes.delete(lane);
    if (this.#waiting.length > 0) this.#waiting.shift()?.resolve(this.#open());
  }
}

/** Ends the driver, once it holds nothing: for what it still holds it would connect again, and stay connected. */
async function letGo({ sql, settled }: Lane): Promise<void> {
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
 * Rejects with the first failure. When Postgres refused the statement, that is known only once `commit` has ended the
 * transaction as well; with any other failure nothing further may ever come.
 */
async function roundTrip<Result extends Row>(
  lane: Lane,
  tenant_id: string,
  statement: (tx: Tx) => PendingQuery<Result[]>,
): Promise<Result[]> {
  const { sql } = lane;
  const asking = statement(sql);
  const begun = sql.unsafe(`begin read only; set local app.tenant_id = '${tenant_id}'`).simple().execute();
  const asked = asking.execute();
  const committed = sql.unsafe('commit').simple().execute();
  lane.settled = Promise.allSettled([begun, asked, committed]);
  let refusal: unknown;
  for (const sent of [begun, asked, committed]) {
    try {
      await sent;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusal ??= error;
    }
  }
  if (refusal !== undefined) throw refusal;
  return asked;
}

/** Whether Postgres refused a statement and goes on listening: anything else leaves the connection in doubt. */
function isRefusal(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'ERROR';
}

/** Whether the connection was lost or could not be made. */
function isConnectionError(error: unknown): boolean {
  const { code } = error as { code?: string };
  return error instanceof postgres.PostgresError || /^(E[A-Z_]+|CONNECT\w+)$/.test(code ?? '');
}

/** Whether the connection was there and is gone; one that cannot be made is not tried again at once. */
function isLoss(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'CONNECTION_CLOSED' || code === 'ECONNRESET' || code === 'EPIPE';
}
