import { ConnectionLost, isConnectionError, isRefusal, type ExclusivePool } from './exclusive-pool.ts';
import type { Tx } from './port.ts';

/** `open`: statements may be sent; `over`: committed or rolled back; `lost`: the connection was closed. */
type Phase = 'open' | 'over' | 'lost';

/**
 * Runs transactions, each on a connection of its own. Once the connection is lost or the transaction is over, no
 * further statement of it is sent. The driver alone would send such a statement inside the next transaction on that
 * connection, which may be another tenant's. Also, the driver's own `rollback` on a lost connection ends the process.
 */
export class Transactions {
  #pool: ExclusivePool;

  constructor(pool: ExclusivePool) {
    this.#pool = pool;
  }

  /**
   * Runs `work` in a transaction, which is rolled back when `work` rejects. `settings` are those of `begin`, such as
   * `isolation level repeatable read`. Rejects with {@link ConnectionLost} when the connection is lost. If that happens
   * before the commit is sent, the transaction is rolled back; if it happens later, the outcome is unknown.
   */
  async run<T>(settings: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const connection = await this.#pool.acquire();
    let phase: Phase = 'open';
    connection.onClosed = () => {
      phase = 'lost';
    };
    const check = () => {
      if (phase === 'open') return;
      if (phase === 'lost') throw lost();
      throw new Error('the transaction is over: a statement was issued that was not awaited');
    };
    let failure: unknown;
    try {
      return (await connection.sql.begin(settings, (tx) => {
        return new Promise<T>((resolve, reject) => {
          // When the connection is lost, this promise must never settle: the driver would then send a commit or a
          // rollback. `begin` itself rejects in that case.
          const end = (settle: () => void) => {
            if (phase !== 'open') return;
            phase = 'over';
            settle();
          };
          void work(guarded(tx, check)).then(
            (value) => end(() => resolve(value)),
            (error: unknown) => end(() => reject(error)),
          );
        });
      })) as T;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      const gone = (phase as Phase) === 'lost';
      if (!gone) phase = 'over';
      if (gone || isDoubtful(failure)) this.#pool.discard(connection, gone, Promise.resolve());
      else this.#pool.release(connection);
    }
  }

  /** Rejects further transactions and gives running ones at most `timeout_s` to finish. */
  async close(timeout_s: number): Promise<void> {
    await this.#pool.close(timeout_s);
  }
}

/** A proxy of the transaction that calls `check` before each statement. */
function guarded(tx: Tx, check: () => void): Tx {
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
function isDoubtful(failure: unknown): boolean {
  return failure !== undefined && !isRefusal(failure) && isConnectionError(failure);
}

function lost(): ConnectionLost {
  return new ConnectionLost('the connection to Postgres was lost', 'CONNECTION_CLOSED');
}
