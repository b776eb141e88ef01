import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { lost, type ExclusivePool } from './exclusive-pool.ts';
import { limitSettings, OWNER, setAll, type SessionLimits } from './limits.ts';
import type { Driver, Session, Tx } from './port.ts';
import { isLockTimeout } from './retry.ts';
import { guarded, isDoubtful, runTransaction } from './transactions.ts';

/** The driver closes a connection that is idle for five minutes, which a session is while it waits. */
const KEEP_ALIVE_MS = 60_000;
/** A setting of the session that holds its id: a connection that the driver has replaced does not have it. */
const ID_SETTING = 'app.session';
/** Releases all locks, and gives the connection its own limits back. */
const AT_END = `select pg_advisory_unlock_all(); ${limitSettings(OWNER)
  .map(([name]) => `reset ${name}`)
  .join('; ')}`;
/** The wait for a lock is split, so that no statement waits longer; between two waits others may get the lock. */
const LOCK_WAIT_MS = 800;
/** A lock that others hold for longer is given up. */
const MAX_WAIT_MS = 600_000;

/**
 * Gives `work` a connection as a {@link Session} with these limits, and releases its locks afterwards. Rejects as `work`
 * does, and with `ConnectionLost` when the connection was lost.
 */
export async function runSession<T>(
  pool: ExclusivePool,
  limits: SessionLimits,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const connection = await pool.acquire();
  let is_gone = false;
  // After such an error the driver may have replaced the connection.
  let is_doubtful = false;
  connection.onClosed = () => {
    is_gone = true;
  };
  const isLost = () => is_gone || is_doubtful;
  const id = randomUUID();
  const keep_alive = setInterval(() => {
    if (!isLost()) void connection.sql`select 1`.catch(() => undefined);
  }, KEEP_ALIVE_MS);
  try {
    await setAll(connection.sql, [[ID_SETTING, id], ...limitSettings(limits)], false);
    return await work({
      sql: guarded(connection.sql, () => {
        if (isLost()) throw lost();
      }),
      begin: (work_of_transaction) =>
        beginIn(connection.sql, id, work_of_transaction, isLost).catch((error: unknown) => {
          is_doubtful ||= isDoubtful(error);
          throw error;
        }),
    });
  } catch (error) {
    is_doubtful ||= isDoubtful(error);
    throw error;
  } finally {
    clearInterval(keep_alive);
    if (!isLost()) {
      await connection.sql.unsafe(AT_END).catch(() => {
        is_doubtful = true;
      });
    }
    if (isLost()) pool.discard(connection, is_gone, Promise.resolve());
    else pool.release(connection);
  }
}

/** Runs a transaction, if the connection is still the one of the session. */
async function beginIn<T>(
  sql: Driver,
  id: string,
  work: (tx: Tx) => Promise<T>,
  isLost: () => boolean,
): Promise<T> {
  if (isLost()) throw lost();
  return runTransaction(
    sql,
    '',
    async (tx) => {
      const [row] = await tx<{ id: string | null }[]>`select current_setting(${ID_SETTING}, true) as id`;
      if (row?.id !== id) throw lost();
      return work(tx);
    },
    isLost,
  );
}

/**
 * Repeats a statement that waits for session locks until it has them. `statement` must set the `lock_timeout` that it is
 * given, in milliseconds, for itself. It may be run again after it has got some of several locks. After `max_wait_ms`
 * (absent: ten minutes) it rejects with the error of Postgres, 55P03.
 */
export async function waitForLocks(
  statement: (lock_timeout: string) => Promise<unknown>,
  max_wait_ms = MAX_WAIT_MS,
): Promise<void> {
  const deadline_ms = performance.now() + max_wait_ms;
  for (;;) {
    try {
      await statement(String(LOCK_WAIT_MS));
      return;
    } catch (error) {
      const is_held = error instanceof postgres.PostgresError && isLockTimeout(error);
      if (!is_held || performance.now() > deadline_ms) throw error;
    }
  }
}
