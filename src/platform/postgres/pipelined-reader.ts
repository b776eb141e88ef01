import type { PendingQuery, Row } from 'postgres';
import { isRefusal, type ExclusivePool } from './exclusive-pool.ts';
import type { Driver, Tx } from './port.ts';

/** Settings of Postgres for one read; names and values are those of the code, never a caller's. */
export type ReadSettings = Readonly<Record<string, string>>;

/** The statements that were sent for one read. */
interface Sent<Result extends Row> {
  rows: PendingQuery<Result[]>;
  /** When Postgres has begun the transaction. */
  begun: Promise<unknown>;
  all: Promise<unknown>[];
}

/**
 * Returns the rows of a reading statement, restricted to the tenant, in one round trip; `tenant_id` must be a UUID. The
 * statement binds the tenant itself, which costs least. With `settings`, which must be known before Postgres plans the
 * statement, `begin`, the settings and the tenant, the statement and `commit` are sent without waiting in between: so
 * several processes of Postgres may execute it, which none do when a statement sets anything, and which counts of
 * millions of rows need. Each read has a connection of its own until it ends.
 *
 * A read that loses its connection is repeated once on another one: connections also close when they are idle, and a read
 * has no effects. `signal` asks Postgres to cancel the statement, and rejects with its reason; the connection is not used
 * again, because the request to cancel it may arrive late.
 */
export async function readPipelined<Result extends Row>(
  pool: ExclusivePool,
  tenant_id: string,
  statement: (tx: Tx) => PendingQuery<Result[]>,
  settings: ReadSettings = {},
  signal?: AbortSignal,
): Promise<Result[]> {
  // Not for each read: to abort one takes as long as to parse an answer.
  const over = signal === undefined ? undefined : new AbortController();
  const attempt = () =>
    pool.ask((sql) => {
      signal?.throwIfAborted();
      const sent = send(sql, tenant_id, statement, settings);
      const answered = answer(sent);
      return {
        answer:
          signal === undefined || over === undefined
            ? answered
            : Promise.race([answered, cancelled(sent, signal, over.signal)]),
        settled: Promise.allSettled(sent.all),
      };
    });
  try {
    signal?.throwIfAborted();
    return await attempt().catch((error: unknown) => {
      if (!isLoss(error)) throw error;
      return attempt();
    });
  } finally {
    over?.abort();
  }
}

/**
 * Rejects with the reason of `signal` when that is aborted before `over`, and has the statement cancelled. The driver loses
 * a statement that is cancelled before it is the connection's current one, so not before the transaction has begun.
 */
function cancelled(
  { rows, begun }: { rows: object; begun: Promise<unknown> },
  signal: AbortSignal,
  over: AbortSignal,
): Promise<never> {
  return new Promise((_resolve, reject) => {
    const cancel = () => {
      // Not by `cancel`, which drops the promise of its request: when that fails, the process would end.
      const { canceller } = rows as { canceller?: ((query: object) => Promise<void> | undefined) | null };
      begun.then(() => canceller?.(rows)).catch(noop);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', cancel, { once: true, signal: over });
  });
}

const noop = () => undefined;

function send<Result extends Row>(
  sql: Driver,
  tenant_id: string,
  statement: (tx: Tx) => PendingQuery<Result[]>,
  settings: ReadSettings,
): Sent<Result> {
  const wanted = Object.entries(settings);
  if (wanted.length === 0) {
    const rows = asTenant(sql, tenant_id, statement(sql)).execute();
    return { rows, begun: Promise.resolve(), all: [rows] };
  }
  const rows = statement(sql);
  const set = [['app.tenant_id', tenant_id] as const, ...wanted]
    .map(([name, value]) => `; set local ${name} = '${value}'`)
    .join('');
  const begun = sql.unsafe(`begin read only${set}`).simple().execute();
  const asked = rows.execute();
  const committed = sql.unsafe('commit').simple().execute();
  return { rows, begun, all: [begun, asked, committed] };
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
