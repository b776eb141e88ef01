import postgres from 'postgres';
import type { Session, Tx } from './port.ts';
import { isLockTimeout } from './retry.ts';
import { waitForLocks } from './session.ts';

/** Another session held the lock until the deadline, or the session that held it was lost. */
export class LockTaken extends Error {
  override readonly name = 'LockTaken';
}

/**
 * Takes the advisory lock `hashtext(name)` for the session, which holds it until {@link releaseLock} or its end. It
 * excludes sessions and transactions that take the same lock. Rejects with {@link LockTaken} after `wait_ms`.
 */
export async function takeLock({ sql }: Session, name: string, wait_ms: number): Promise<void> {
  try {
    await waitForLocks(
      (lock_timeout) => sql`
        with patience as materialized (select set_config('lock_timeout', ${lock_timeout}, true))
        select pg_advisory_lock(hashtext(${name})) from patience`,
      wait_ms,
    );
  } catch (cause) {
    if (!(cause instanceof postgres.PostgresError && isLockTimeout(cause))) throw cause;
    throw new LockTaken(`another session holds the lock "${name}"`, { cause });
  }
}

/** Takes the lock as {@link takeLock} does; false when another session or transaction holds it. */
export async function tryLock({ sql }: Session, name: string): Promise<boolean> {
  const [row] = await sql<{ locked: boolean }[]>`select pg_try_advisory_lock(hashtext(${name})) as locked`;
  return row?.locked ?? false;
}

/** Releases a lock that was taken by {@link takeLock} or {@link tryLock}. */
export async function releaseLock({ sql }: Session, name: string): Promise<void> {
  await sql`select pg_advisory_unlock(hashtext(${name}))`;
}

/**
 * Rejects with {@link LockTaken} when the session, and with it all its locks, was lost. Called before each write to
 * another system; what is written to Postgres is written in transactions of the session, which cannot commit then.
 * `work` is run in the transaction that finds out.
 */
export async function requireLocks(
  session: Session,
  work: (tx: Tx) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  try {
    await session.begin(work);
  } catch (cause) {
    throw new LockTaken('the session that held the locks was lost', { cause });
  }
}
