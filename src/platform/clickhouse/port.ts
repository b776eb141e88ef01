import type { Readable } from 'node:stream';

/** ClickHouse as the service uses it; a server and the embedded engine are both used through the official client. */
export interface ClickHouse {
  /**
   * Runs a SELECT with bound `{name:Type}` parameters. 64-bit integers are returned as strings. When the statement
   * exceeds its time limit on the server, it rejects with the code 159, as {@link StatementTimedOut} has.
   */
  query<Row>(sql: string, params?: Record<string, unknown>): Promise<Row[]>;
  /**
   * Runs a SELECT with bound parameters and resolves with its rows as the bytes of a file in ClickHouse's `format`. It
   * resolves when the whole result is known, so the bytes are of a statement that succeeded. Destroy the stream when it
   * is not read to its end. The embedded engine holds the whole result in memory: bound what the statement reads.
   */
  file(format: FileFormat, sql: string, params?: Record<string, unknown>): Promise<Readable>;
  /** Runs a short statement that returns no rows. */
  command(sql: string, params?: Record<string, unknown>): Promise<void>;
  /**
   * Runs a statement that rewrites many rows and may take minutes. Per `name` (letters, digits, `-`) one statement
   * runs at a time: rejects with {@link StillRunning} while an earlier one runs, even if its caller gave up or died.
   */
  rewrite(name: string, sql: string, params?: Record<string, unknown>): Promise<void>;
  /** Deletes the rows of a table for which `condition` holds: a rewrite, of which each table has one at a time. */
  deleteRows(table: string, condition: string, params: Record<string, unknown>): Promise<void>;
  /**
   * Inserts one block of JSONEachRow lines. A second call with the same token inserts nothing, so a repeated block
   * counts once. Unknown keys in a line are ignored.
   */
  insertLines(table: string, lines: readonly string[], deduplication_token: string): Promise<void>;
  /** How many questions it takes at once; further ones wait. */
  readonly max_questions: number;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Formats of files, by ClickHouse's names; the first line of a CSV has the names of the columns. */
export type FileFormat = 'Parquet' | 'CSVWithNames';

/** ClickHouse for those who only ask it. */
export type ClickHouseQueries = Pick<ClickHouse, 'query'>;

/** The server did not answer before the statement's deadline; `code` is the server's own code for a time-out. */
export class StatementTimedOut extends Error {
  override readonly name = 'StatementTimedOut';
  readonly code = '159';
  readonly type = 'TIMEOUT_EXCEEDED';

  constructor(deadline_ms: number, options?: ErrorOptions) {
    super(`ClickHouse did not answer within ${deadline_ms} ms`, options);
  }
}

/** An earlier run of a rewrite has not ended; try again later. */
export class StillRunning extends Error {
  override readonly name = 'StillRunning';

  /** `failure`: why the earlier run has failed so far; empty or absent when it has not. */
  constructor(name: string, { failure = '', ...options }: ErrorOptions & { failure?: string } = {}) {
    super(`an earlier "${name}" still runs in ClickHouse${failure && `, and fails: ${failure}`}`, options);
  }
}

/** ClickHouse's code for too little memory. */
export const OUT_OF_MEMORY = '241';

/**
 * ClickHouse's codes that say nothing about the statement: cancelled, too many statements, network errors, a table that
 * is read-only, missing or restarting, no rights, no keeper, no disk.
 */
export const OUTAGES: ReadonlySet<string> = new Set(
  '60 74 81 193 194 202 209 210 225 236 242 243 319 394 439 497 499 516 999 1000 1001 1002'.split(' '),
);

/** ClickHouse's codes for a query over its limits: too many rows, timed out, too slow, too large, too deep. */
const OVER_LIMITS: ReadonlySet<string> = new Set(['158', '159', '160', '168', '306']);

/** Whether ClickHouse stopped a query at its own limits. It also runs out of memory through the queries of others. */
export function isOverLimits(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: string };
  if (code === OUT_OF_MEMORY) return /query memory limit|\(for query\)/i.test(message ?? '');
  return OVER_LIMITS.has(String(code));
}
