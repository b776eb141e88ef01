/** Postgres: a unique key was taken, a deadlock was broken, a snapshot was too old. */
const LOST_RACE_CODES = new Set(['23505', '40P01', '40001']);
const ATTEMPTS = 8;

/** Somebody else changed what a transaction had read: it must be rolled back and done again. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
}

/**
 * Runs a whole transaction again when it lost against another one; after {@link ATTEMPTS} losses it rejects with the
 * last error. Another transaction has made progress each time, so no pause is needed.
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

/** Whether doing the transaction again may succeed. */
export function isWriteConflict(error: unknown): boolean {
  if (error instanceof WriteConflict) return true;
  return error instanceof Error && LOST_RACE_CODES.has((error as { code?: string }).code ?? '');
}

/** Whether the data itself is refused (class 22: data, 23: integrity, 54: too large), so that trying again cannot help. */
export function isDataError(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error) || isWriteConflict(error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(22|23|54)[\dA-Z]{3}$/.test(code);
}

/** Whether a number was out of its type's range: a sum that no 64-bit integer holds, for one. */
export function isOverflow(error: unknown): boolean {
  return error instanceof Error && (error as { code?: string }).code === '22003';
}
