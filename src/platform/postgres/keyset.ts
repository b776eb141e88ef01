import type { PendingQuery, Row } from 'postgres';
import type { Tx } from './port.ts';

/** The position of a row in a list sorted by time and id, newest first: microseconds since the epoch, and the id. */
export type TimePosition = readonly [time_us: string, id: string];

/** A row of a list sorted by creation time; `created_us` is in microseconds since the epoch. */
export type Listed<T> = T & { created_us: bigint };

/** A statement that reads rows. */
export type Rows<T extends object> = PendingQuery<T[]>;

/** A statement that reads a page of such a list. */
export type PageOf<T> = Rows<Listed<T>>;

/** SQL for a time column in microseconds since the epoch; a JavaScript date would lose the last three digits. */
export function microseconds(tx: Tx, column: string): PendingQuery<Row[]> {
  return tx`(extract(epoch from ${tx(column)}) * 1000000)::bigint`;
}

/**
 * The SQL condition `and …` for the rows that come after a position; for the first page, for all rows. The index of
 * every list has the condition on `-infinity`, so only lists use it (docs/decisions/032-planning-without-statistics.md).
 */
export function beyond(
  tx: Tx,
  time_column: string,
  id_column: string,
  after: TimePosition | undefined,
): PendingQuery<Row[]> {
  const listed = tx`and ${tx(time_column)} > '-infinity'`;
  if (after === undefined) return listed;
  return tx`${listed} and (${tx(time_column)}, ${tx(id_column)}) < (${timeOf(tx, after)}, ${after[1]}::uuid)`;
}

/** SQL for the time of a position. */
export function timeOf(tx: Tx, [time_us]: TimePosition): PendingQuery<Row[]> {
  return tx`('epoch'::timestamptz + ${time_us}::bigint * interval '1 microsecond')`;
}
