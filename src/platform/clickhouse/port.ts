/** ClickHouse as the service uses it; both engines sit behind the official client. */
export interface ClickHouse {
  /** Runs a SELECT with bound `{name:Type}` parameters. 64-bit integers come back as strings. */
  query<Row>(sql: string, params?: Record<string, unknown>): Promise<Row[]>;
  /** Runs a statement that returns no rows. */
  command(sql: string, params?: Record<string, unknown>): Promise<void>;
  /**
   * Inserts one block of JSONEachRow lines. A second call with the same token inserts nothing, so a
   * retried or repeated block counts once. Unknown keys in a line are ignored.
   */
  insertLines(table: string, lines: readonly string[], deduplication_token: string): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
