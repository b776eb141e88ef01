import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { isDoubtful, lost, type ExclusiveConnection, type ExclusivePool } from './exclusive-pool.ts';
import { limitSettings, OWNER, setAll, type SessionLimits } from './limits.ts';
import type { Session, Tx } from './port.ts';
import { isLockTimeout } from './retry.ts';
import { guarded, runTransaction } from './transactions.ts';

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
  return pool.use(async (connection) => {
    const { sql } = connection;
    const id = randomUUID();
    const keep_alive = setInterval(() => {
      if (!connection.is_lost) void sql`select 1`.catch(() => undefined);
    }, KEEP_ALIVE_MS);
    try {
      await setAll(sql, [[ID_SETTING, id], ...limitSettings(limits)], false);
      return await work({
        sql: guarded(sql, () => {
          if (connection.is_lost) throw lost();
        }),
        begin: (work_of_transaction) =>
          beginIn(connection, id, work_of_transaction).catch((error: unknown) => {
            connection.is_lost ||= isDoubtful(error);
            throw error;
          }),
      });
    } catch (error) {
      connection.is_lost ||= isDoubtful(error);
      throw error;
    } finally {
      clearInterval(keep_alive);
      if (!connection.is_lost) {
        await sql.unsafe(AT_END).catch(() => {
          connection.is_lost = true;
        });
      }
    }
  });
}

/** Runs a transaction, if the connection is still the one of the session. */
async function beginIn<T>(
  connection: ExclusiveConnection,
  id: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  if (connection.is_lost) throw lost();
  return runTransaction(connection, '', async (tx) => {
    const [row] = await tx<{ id: string | null }[]>`select current_setting(${ID_SETTING}, true) as id`;
    if (row?.id !== id) throw lost();
    return work(tx);
  });
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
