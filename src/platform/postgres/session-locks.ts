import { setTimeout as sleep } from 'node:timers/promises';
import type { ExclusiveConnection, ExclusivePool } from './exclusive-pool.ts';
import type { SessionLock } from './port.ts';

const POLL_MS = 100;

/** Another session held the lock until the deadline, or the session that held it was lost. */
export class LockTaken extends Error {
  override readonly name = 'LockTaken';
}

/**
 * Takes the advisory lock `hashtext(name)` for a session of its own: no transaction is open while it is held. It
 * excludes sessions and transactions that take the same lock. Rejects with {@link LockTaken} after `wait_ms`.
 */
export async function lockSession(pool: ExclusivePool, name: string, wait_ms: number): Promise<SessionLock> {
  for (const deadline_ms = performance.now() + wait_ms; ;) {
    const lock = await tryLock(pool, name);
    if (lock !== undefined) return lock;
    if (performance.now() >= deadline_ms) throw new LockTaken(`another session holds the lock "${name}"`);
    // The connection is not kept while waiting: further callers need it.
    await sleep(POLL_MS);
  }
}

async function tryLock(pool: ExclusivePool, name: string): Promise<SessionLock | undefined> {
  const connection = await pool.acquire();
  const session = { is_lost: false };
  connection.onClosed = () => (session.is_lost = true);
  try {
    const [row] = await connection.sql<{ locked: boolean }[]>`
      select pg_try_advisory_lock(hashtext(${name})) as locked`;
    if (row?.locked === true) return heldLock(pool, connection, name, session);
  } catch (error) {
    pool.discard(connection, session.is_lost, Promise.resolve());
    throw error;
  }
  pool.release(connection);
  return undefined;
}

function heldLock(
  pool: ExclusivePool,
  connection: ExclusiveConnection,
  name: string,
  session: { readonly is_lost: boolean },
): SessionLock {
  const { sql } = connection;
  return {
    async check() {
      // The statement also finds a connection that was cut without notice. The driver may connect again for it: such a
      // session does not hold the lock, and `is_lost` says so.
      const failure: unknown = session.is_lost
        ? undefined
        : await sql`select 1`.then(noError, (e: unknown) => e);
      if (session.is_lost || failure !== undefined) {
        throw new LockTaken(`the session that held the lock "${name}" was lost`, { cause: failure });
      }
    },
    async release() {
      const unlocked =
        !session.is_lost &&
        (await sql`select pg_advisory_unlock(hashtext(${name}))`.then(
          () => !session.is_lost,
          () => false,
        ));
      if (unlocked) pool.release(connection);
      // The lock ends with its session.
      else pool.discard(connection, session.is_lost, Promise.resolve());
    },
  };
}

const noError = () => undefined;
