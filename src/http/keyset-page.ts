import { z } from 'zod';
import { isUuid } from '../platform/ids.ts';
import { decodeCursor, encodeCursor, type CursorScope, type PositionShape } from './cursor.ts';

/** The query parameters of a list that is read in pages (spec part 1). */
export const PAGE_QUERY = {
  cursor: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
};
export type PageQuery = z.infer<z.ZodObject<typeof PAGE_QUERY>>;

/** A list that is read in pages: each page begins after the position of the last row of the previous page. */
export interface KeysetList<Row, Position extends readonly string[]> {
  scope: CursorScope;
  shape: PositionShape<Position>;
  positionOf: (row: Row) => Position;
  /** Whether the row still fits the page, which ends before the first that does not. Absent: all do. */
  fits?: (row: Row) => boolean;
  /** Selects at most `limit` rows after the position, in the order of the list. */
  select: (after: Position | undefined, limit: number) => PromiseLike<readonly Row[]>;
}

/** The shape of a position that is a time in microseconds since the epoch and a UUID (platform/postgres/keyset.ts). */
export const TIME_AND_ID = [(text: string) => /^-?\d{1,17}$/.test(text), isUuid] as const;

/**
 * Reads the rows of one page and the cursor of the next page, which is null on the last page (spec part 1). Rejects
 * with VALIDATION_ERROR when the cursor was not made for this list.
 */
export async function readPage<Row, Position extends readonly string[]>(
  { scope, shape, positionOf, fits, select }: KeysetList<Row, Position>,
  { cursor, limit }: PageQuery,
): Promise<{ rows: Row[]; next_cursor: string | null }> {
  const after = cursor === undefined ? undefined : decodeCursor(scope, cursor, shape);
  // One row more than the limit is selected: if it exists, there is a next page.
  const found = await select(after, limit + 1);
  const beyond = fits === undefined ? -1 : found.findIndex((row) => !fits(row));
  const rows = found.slice(0, beyond === -1 ? limit : Math.min(limit, beyond));
  const last = found.length > rows.length ? rows.at(-1) : undefined;
  return { rows, next_cursor: last === undefined ? null : encodeCursor(scope, positionOf(last)) };
}
