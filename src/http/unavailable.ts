import { OUT_OF_MEMORY, OUTAGES } from '../platform/clickhouse/port.ts';

/** Error codes of failed or lost connections: of the operating system, of postgres.js, and of Postgres. */
const CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  // Postgres: shutting down, crashed, starting up, no connection left, read-only stand-by.
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '25006',
  // Postgres: a time limit of the statement, of waiting for a lock, of pausing in a transaction.
  '57014',
  '55P03',
  '25P03',
  // The queue for a connection is full, or the wait was too long.
  'TOO_BUSY',
]);

/** ClickHouse's codes for temporary errors in addition to its outages: timeout, out of memory, too many parts. */
const CLICKHOUSE_CODES = new Set(['159', OUT_OF_MEMORY, '252']);

/** Whether the error means that a storage engine is unreachable or currently refuses work. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') {
    // SQLSTATE class 08: connection exceptions.
    if (CODES.has(code) || /^08[0-9A-Z]{3}$/.test(code)) return true;
    if (error.name === 'ClickHouseError' || 'type' in error)
      return CLICKHOUSE_CODES.has(code) || OUTAGES.has(code);
  }
  // The ClickHouse client's own timeout has no code.
  return error.message === 'Timeout error.';
}
