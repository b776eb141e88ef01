import type { PendingQuery, Row } from 'postgres';
import {
  ConnectionLost,
  isConnectionError,
  isRefusal,
  type ExclusiveConnection,
  type ExclusivePool,
} from './exclusive-pool.ts';
import type { Tx } from './port.ts';

/** Settings of Postgres for one read; names and values are those of the code, never a caller's. */
export type ReadSettings = Readonly<Record<string, string>>;

/** The statements that were sent for one read. */
interface Sent<Result extends Row> {
  rows: PendingQuery<Result[]>;
  all: Promise<unknown>[];
  /** Resolves when all of them have settled; it may never resolve. */
  settled: Promise<unknown>;
}

/** How a read binds its tenant. */
export interface Binding {
  /**
   * `statement`: in the reading statement itself, which costs least. `transaction`: before it, in a transaction; a statement
   * that sets anything is never executed by several processes of Postgres, which counts of millions of rows need. So do
   * settings, which must be known before Postgres plans the statement.
   */
  bound_by: 'statement' | 'transaction';
}

/**
 * Runs a reading statement in one round trip. In a transaction `begin`, the settings, the statement and `commit` are sent
 * without waiting in between. Each read has a connection of its own until it ends.
 */
export class PipelinedReader {
  #pool: ExclusivePool;
  #binding: Binding;

  constructor(pool: ExclusivePool, binding: Binding) {
    this.#pool = pool;
    this.#binding = binding;
  }

  /**
   * Returns the rows of `statement`, restricted to the tenant; `tenant_id` must be a UUID. A read that loses its
   * connection is repeated once on another one: connections also close when they are old, and a read has no effects.
   * `signal` asks Postgres to cancel the statement; it is refused then (57014), and the connection can be used again.
   */
  async read<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
    settings: ReadSettings = {},
    signal?: AbortSignal,
  ): Promise<Result[]> {
    try {
      return await this.#attempt(tenant_id, statement, settings, signal);
    } catch (error) {
      if (!isLoss(error)) throw error;
      return this.#attempt(tenant_id, statement, settings, signal);
    }
  }

  /** Rejects further reads and gives running ones at most `timeout_s` to finish. */
  async close(timeout_s: number): Promise<void> {
    await this.#pool.close(timeout_s);
  }

  async #attempt<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
    settings: ReadSettings,
    signal: AbortSignal | undefined,
  ): Promise<Result[]> {
    signal?.throwIfAborted();
    const connection = await this.#pool.acquire();
    const closed = new Promise<never>((_resolve, reject) => {
      connection.onClosed = () =>
        reject(new ConnectionLost('the connection to Postgres was lost', 'CONNECTION_CLOSED'));
    });
    let sent: Sent<Result> | undefined;
    let failure: unknown;
    const cancel = () => sent?.rows.cancel();
    try {
      signal?.throwIfAborted();
      sent = send(connection, tenant_id, statement, { settings, ...this.#binding });
      signal?.addEventListener('abort', cancel, { once: true });
      return await Promise.race([answer(sent), closed]);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      signal?.removeEventListener('abort', cancel);
      if (failure === undefined || isRefusal(failure)) this.#pool.release(connection);
      else this.#pool.discard(connection, isConnectionError(failure), sent?.settled ?? Promise.resolve());
    }
  }
}

function send<Result extends Row>(
  { sql }: ExclusiveConnection,
  tenant_id: string,
  statement: (tx: Tx) => PendingQuery<Result[]>,
  { settings, bound_by }: Binding & { settings: ReadSettings },
): Sent<Result> {
  const wanted = Object.entries(settings);
  if (bound_by === 'statement' && wanted.length === 0) {
    const rows = asTenant(sql, tenant_id, statement(sql)).execute();
    return { rows, all: [rows], settled: Promise.allSettled([rows]) };
  }
  const rows = statement(sql);
  const set = [['app.tenant_id', tenant_id] as const, ...wanted]
    .map(([name, value]) => `; set local ${name} = '${value}'`)
    .join('');
  const begun = sql.unsafe(`begin read only${set}`).simple().execute();
  const asked = rows.execute();
  const committed = sql.unsafe('commit').simple().execute();
  const all = [begun, asked, committed];
  return { rows, all, settled: Promise.allSettled(all) };
}

/**
 * A statement that binds the tenant itself: one statement is one transaction, with which the setting ends. The first part
 * sets the tenant; the second one depends on it, so that it is executed afterwards. Were it executed before, row-level
 * security would show it no rows. `offset 0` keeps the parts apart.
 */
function asTenant<Result extends Row>(sql: Tx, tenant_id: string, statement: PendingQuery<Result[]>) {
  return sql<Result[]>`
    select r.* from (select set_config('app.tenant_id', ${tenant_id}, true) as tenant_id offset 0) bound
    cross join lateral (select s.* from (${statement}) s where bound.tenant_id <> '' offset 0) r`;
}

/**
 * Returns the rows, or rejects with the first failure. When Postgres refuses a statement, it waits for the statements
 * after it too, so that `commit` has ended the transaction. After any other failure it rejects at once, because no
 * further answer may ever arrive.
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

/** Whether an open connection was lost. A read whose connection could not be opened is not repeated. */
function isLoss(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'CONNECTION_CLOSED' || code === 'ECONNRESET' || code === 'EPIPE';
}
