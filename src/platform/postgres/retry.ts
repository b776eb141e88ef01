/** Postgres error codes: unique violation, deadlock detected, serialization failure. */
const CONFLICT_CODES = new Set(['23505', '40P01', '40001']);
const ATTEMPTS = 8;

/** Another transaction changed what this one had read: it must be rolled back and run again. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
}

/**
 * Runs a transaction, and runs it again as a whole when it fails with a write conflict. After {@link ATTEMPTS}
 * conflicts it rejects with the last error. No pause is needed: in each conflict the other transaction made progress.
 */
export async function retryConflicts<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === ATTEMPTS || !isWriteConflict(error)) throw error;
    }
  }
}

/** Whether the transaction failed because of another one, so that running it again may succeed. */
export function isWriteConflict(error: unknown): boolean {
  if (error instanceof WriteConflict) return true;
  return error instanceof Error && CONFLICT_CODES.has((error as { code?: string }).code ?? '');
}

/**
 * Whether Postgres refused the data itself (class 22: data, 23: integrity, 54: too large), so that a retry cannot
 * succeed.
 */
export function isDataError(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error) || isWriteConflict(error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(22|23|54)[\dA-Z]{3}$/.test(code);
}

/** Whether a statement waited too long for a lock. A retry may succeed; nothing is wrong with the data. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && (error as { code?: string }).code === '55P03';
}

/** Whether Postgres ended the transaction because it and another one waited for each other. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof Error && (error as { code?: string }).code === '40P01';
}

/** Whether a statement took too long, or was ended by somebody. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && (error as { code?: string }).code === '57014';
}

/**
 * Whether a statement waited too long for the lock of a whole table, which concerns every tenant. After a wait for
 * a row, the error names its place; advisory locks are locks of a name.
 */
export function isTableLocked(error: unknown): boolean {
  if (!isLockTimeout(error)) return false;
  const { where, query = '' } = error as { where?: string; query?: string };
  return where === undefined && !query.includes('advisory');
}

/** Whether a number was out of its type's range, for example a sum that exceeds 64 bits. */
export function isOverflow(error: unknown): boolean {
  return error instanceof Error && (error as { code?: string }).code === '22003';
}
