import { ConnectionLost, isConnectionError, isRefusal, type ExclusivePool } from './exclusive-pool.ts';
import type { Tx } from './port.ts';

/** What the body of a transaction may do with it. */
type Phase = 'open' | 'over' | 'lost';

/**
 * Transactions that end with their connection: once it is lost, or the transaction over, none of its statements is
 * sent any more. The driver alone would send them on whatever comes next on that connection, be it another tenant's
 * transaction, and its own `rollback` on a lost connection ends the process.
 */
export class Transactions {
  #pool: ExclusivePool;

  constructor(pool: ExclusivePool) {
    this.#pool = pool;
  }

  /**
   * Runs `work` in a transaction, which is rolled back when it rejects; `settings` are those of `begin`, such as
   * `isolation level repeatable read`. Rejects with {@link ConnectionLost} when the connection is lost; before the
   * commit was sent that means rolled back, after it the outcome is unknown.
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
      throw new Error('the transaction is over: a statement was issued that nobody waited for');
    };
    let failure: unknown;
    try {
      return (await connection.sql.begin(settings, (tx) => {
        return new Promise<T>((resolve, reject) => {
          // When the connection is lost this never settles, or the driver would commit or roll back on it. It rejects
          // by itself then.
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

  /** Refuses further transactions and lets those under way finish for at most `timeout_s`. */
  async close(timeout_s: number): Promise<void> {
    await this.#pool.close(timeout_s);
  }
}

/** The transaction with `check` before each of its statements. */
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

/** An error of `work`, or a refusal of Postgres, was followed by a rollback that worked. */
function isDoubtful(failure: unknown): boolean {
  return failure !== undefined && !isRefusal(failure) && isConnectionError(failure);
}

function lost(): ConnectionLost {
  return new ConnectionLost('the connection to Postgres was lost', 'CONNECTION_CLOSED');
}
