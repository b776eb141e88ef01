import type { PendingQuery, Row } from 'postgres';
import {
  ConnectionLost,
  isConnectionError,
  isRefusal,
  type ExclusiveConnection,
  type ExclusivePool,
} from './exclusive-pool.ts';
import type { Tx } from './port.ts';

/** What was sent for one read. */
interface Sent<Result extends Row> {
  rows: PendingQuery<Result[]>;
  all: Promise<unknown>[];
  /** Resolves when all of it has been dealt with; it may never. */
  settled: Promise<unknown>;
}

/**
 * Reads of one statement in one round trip: `begin`, the tenant, the statement and `commit` are sent without waiting
 * in between. Each read has a connection to itself meanwhile.
 */
export class PipelinedReader {
  #pool: ExclusivePool;

  constructor(pool: ExclusivePool) {
    this.#pool = pool;
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
    await this.#pool.close(timeout_s);
  }

  async #attempt<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
  ): Promise<Result[]> {
    const connection = await this.#pool.acquire();
    const closed = new Promise<never>((_resolve, reject) => {
      connection.onClosed = () =>
        reject(new ConnectionLost('the connection to Postgres was lost', 'CONNECTION_CLOSED'));
    });
    let sent: Sent<Result> | undefined;
    let failure: unknown;
    try {
      sent = send(connection, tenant_id, statement);
      return await Promise.race([answer(sent), closed]);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      if (failure === undefined || isRefusal(failure)) this.#pool.release(connection);
      else this.#pool.discard(connection, isConnectionError(failure), sent?.settled ?? Promise.resolve());
    }
  }
}

function send<Result extends Row>(
  { sql }: ExclusiveConnection,
  tenant_id: string,
  statement: (tx: Tx) => PendingQuery<Result[]>,
): Sent<Result> {
  const rows = statement(sql);
  const begun = sql.unsafe(`begin read only; set local app.tenant_id = '${tenant_id}'`).simple().execute();
  const asked = rows.execute();
  const committed = sql.unsafe('commit').simple().execute();
  const all = [begun, asked, committed];
  return { rows, all, settled: Promise.allSettled(all) };
}

/**
 * Rejects with the first failure. When Postgres refused the statement, that is known only once `commit` has ended the
 * transaction as well; with any other failure nothing further may ever come.
 */
async function answer<Result extends Row>({ rows, all }: Sent<Result>): Promise<Result[]> {
  let refusal: unknown;
  for (const sent of all) {
    try {
      await sent;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusal ??= error;
    }
  }
  if (refusal !== undefined) throw refusal;
  return rows;
}

/** Whether the connection was there and is gone; one that cannot be made is not tried again at once. */
function isLoss(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'CONNECTION_CLOSED' || code === 'ECONNRESET' || code === 'EPIPE';
}
