import { lost, type ExclusiveConnection, type ExclusivePool } from './exclusive-pool.ts';
import type { Tx } from './port.ts';

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
  return pool.use((connection) => runTransaction(connection, settings, work));
}

/** Runs `work` in a transaction of this connection, as {@link transact} describes. */
export async function runTransaction<T>(
  connection: ExclusiveConnection,
  settings: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  let is_over = false;
  const check = () => {
    if (connection.is_lost) throw lost();
    if (is_over) throw new Error('the transaction is over: a statement was issued that was not awaited');
  };
  try {
    return (await connection.sql.begin(settings, (tx) => {
      return new Promise<T>((resolve, reject) => {
        // When the connection is lost, this promise must never settle: the driver would then send a commit or a
        // rollback. `begin` itself rejects in that case.
        const end = (settle: () => void) => {
          if (connection.is_lost || is_over) return;
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
