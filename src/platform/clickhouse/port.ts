/** ClickHouse as the service uses it; both engines sit behind the official client. */
export interface ClickHouse {
  /**
   * Runs a SELECT with bound `{name:Type}` parameters. 64-bit integers come back as strings. Over its time on the server
   * it rejects with the code 159, like {@link StatementTimedOut}.
   */
  query<Row>(sql: string, params?: Record<string, unknown>): Promise<Row[]>;
  /** Runs a short statement that returns no rows. */
  command(sql: string, params?: Record<string, unknown>): Promise<void>;
  /**
   * Runs a statement that rewrites many rows, for minutes if need be. Of one `name` (letters, digits, `-`) one runs at a
   * time: rejects with {@link StillRunning} when an earlier one has not ended, also one whose caller gave up or died.
   */
  rewrite(name: string, sql: string, params?: Record<string, unknown>): Promise<void>;
  /** Deletes the rows of a table for which `condition` holds, as a rewrite of which each table has one at a time. */
  deleteRows(table: string, condition: string, params: Record<string, unknown>): Promise<void>;
  /**
   * Inserts one block of JSONEachRow lines. A second call with the same token inserts nothing, so a
   * retried or repeated block counts once. Unknown keys in a line are ignored.
   */
  insertLines(table: string, lines: readonly string[], deduplication_token: string): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The server did not answer within the time that the statement may take; `code` is that of its own error for it. */
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

  constructor(name: string, options?: ErrorOptions) {
    super(`an earlier "${name}" still runs in ClickHouse`, options);
  }
}
