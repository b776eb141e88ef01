import { isConnectionError, isRefusal, lost, type ExclusivePool } from './exclusive-pool.ts';
import type { Driver, Tx } from './port.ts';

/**
 * Runs `work` in a transaction on a connection of its own, and rolls it back when `work` rejects. `settings` are those of
 * `begin`, such as `isolation level repeatable read`. Rejects with `ConnectionLost` when the connection is lost. If that
 * happens before the commit is sent, the transaction is rolled back; if it happens later, the outcome is unknown.
 *
 * Once the connection is lost or the transaction is over, no further statement of it is sent. The driver alone would send
 * such a statement inside the next transaction on that connection, which may be another tenant's. Also, the driver's own
 * `rollback` on a lost connection ends the process.
 */
export async function transact<T>(
  pool: ExclusivePool,
  settings: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const connection = await pool.acquire();
  let is_lost = false;
  connection.onClosed = () => {
    is_lost = true;
  };
  let failure: unknown;
  try {
    return await runTransaction(connection.sql, settings, work, () => is_lost);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    if (is_lost || isDoubtful(failure)) pool.discard(connection, is_lost, Promise.resolve());
    else pool.release(connection);
  }
}

/**
 * Runs `work` in a transaction of a driver with one connection, as {@link transact} describes. `isLost` says
 * whether the connection was closed since the caller has it.
 */
export async function runTransaction<T>(
  sql: Driver,
  settings: string,
  work: (tx: Tx) => Promise<T>,
  isLost: () => boolean,
): Promise<T> {
  let is_over = false;
  const check = () => {
    if (isLost()) throw lost();
    if (is_over) throw new Error('the transaction is over: a statement was issued that was not awaited');
  };
  try {
    return (await sql.begin(settings, (tx) => {
      return new Promise<T>((resolve, reject) => {
        // When the connection is lost, this promise must never settle: the driver would then send a commit or a
        // rollback. `begin` itself rejects in that case.
        const end = (settle: () => void) => {
          if (isLost() || is_over) return;
          is_over = true;
          settle();
        };
        void work(guarded(tx, check)).then(
          (value) => end(() => resolve(value)),
          (error: unknown) => end(() => reject(error)),
        );
      });
    })) as T;
  } finally {
    is_over = true;
  }
}

/** A proxy that calls `check` before each statement. */
export function guarded(tx: Tx, check: () => void): Tx {
  return new Proxy(tx, {
    apply(target, self, args: unknown[]) {
      check();
      return Reflect.apply(target as (...args: unknown[]) => unknown, self, args);
    },
    get(target, name) {
      check();
      return Reflect.get(target, name) as unknown;
    },
  });
}

/**
 * Whether the state of the connection is uncertain after `failure`. It is not after an error of `work` or a refusal by
 * Postgres, because the rollback that followed succeeded.
 */
export function isDoubtful(failure: unknown): boolean {
  return failure !== undefined && !isRefusal(failure) && isConnectionError(failure);
}
