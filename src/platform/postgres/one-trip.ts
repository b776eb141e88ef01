import postgres, { type PendingQuery, type Row } from 'postgres';
import type { Db, Tx } from './port.ts';

/** A driver without connection tries a moment to get one for what it still holds; ended sooner, it would keep it. */
const LET_GO_S = 1;

interface Lane {
  /** The driver with a single connection of its own. */
  sql: Db;
  /** Called when the connection was closed. */
  onClosed: () => void;
}

/** The connection was closed under a read. */
class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  readonly code = 'CONNECTION_CLOSED';
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
  #waiting: ((lane: Lane) => void)[] = [];
  #closing: Promise<unknown> | undefined;

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
      if (this.#closing !== undefined || !isLoss(error)) throw error;
      return this.#attempt(tenant_id, statement);
    }
  }

  /** Lets the reads under way finish for at most `timeout_s`. */
  async close(timeout_s: number): Promise<void> {
    this.#closing ??= Promise.all([...this.#lanes].map((lane) => lane.sql.end({ timeout: timeout_s })));
    await this.#closing;
  }

  async #attempt<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
  ): Promise<Result[]> {
    const lane = await this.#take();
    const closed = new Promise<never>((_resolve, reject) => {
      lane.onClosed = () => reject(new ConnectionLost('the connection to Postgres was lost'));
    });
    let failure: unknown;
    try {
      return await Promise.race([roundTrip(lane.sql, tenant_id, statement), closed]);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      lane.onClosed = () => undefined;
      if (failure === undefined || isRefusal(failure)) this.#giveBack(lane);
      else this.#giveUp(lane, isConnectionError(failure));
    }
  }

  #take(): Lane | Promise<Lane> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#lanes.size < this.#max) return this.#open();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #open(): Lane {
    const lane: Lane = { sql: this.#connect(() => lane.onClosed()), onClosed: () => undefined };
    this.#lanes.add(lane);
    // Too late to read: the driver says so by itself.
    if (this.#closing !== undefined) void lane.sql.end({ timeout: 0 });
    return lane;
  }

  #giveBack(lane: Lane): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(lane);
    else next(lane);
  }

  #giveUp(lane: Lane, gone: boolean): void {
    this.#lanes.delete(lane);
    void lane.sql.end({ timeout: gone ? LET_GO_S : 0 });
    if (this.#waiting.length > 0) this.#waiting.shift()?.(this.#open());
  }
}

/**
 * Rejects with the first failure. When Postgres refused the statement, that is known only once `commit` has ended the
 * transaction as well; with any other failure nothing further may ever come.
 */
async function roundTrip<Result extends Row>(
  sql: Db,
  tenant_id: string,
  statement: (tx: Tx) => PendingQuery<Result[]>,
): Promise<Result[]> {
  const begun = sql.unsafe(`begin read only; set local app.tenant_id = '${tenant_id}'`).simple().execute();
  const asked = statement(sql).execute();
  const ended = sql.unsafe('commit').simple().execute();
  for (const sent of [begun, asked, ended]) sent.catch(() => undefined);
  let refusal: unknown;
  for (const sent of [begun, asked, ended]) {
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
