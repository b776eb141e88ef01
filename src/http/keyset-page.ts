import { z } from 'zod';
import { isUuid } from '../platform/ids.ts';
import type { Rows } from '../platform/postgres/keyset.ts';
import type { Postgres, Tx } from '../platform/postgres/port.ts';
import { decodeCursor, encodeCursor, type CursorScope, type PositionShape } from './cursor.ts';
import { envelope } from './envelope.ts';

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

type Shape = readonly ((text: string) => boolean)[];
type Texts<S extends Shape> = { readonly [part in keyof S]: string };

/** A list of a tenant or a project in Postgres, whose pages {@link pageOf} reads. */
export interface StoredList<Row extends object, Filters, S extends Shape> {
  /** The kind of list that its cursors are bound to, with the owner and all filters. */
  kind: string;
  /** What cursors are bound to in addition, such as the id in the path. */
  bound?: CursorScope['filters'];
  /** Absent: {@link TIME_AND_ID}. */
  shape?: S;
  positionOf: (row: Row) => NoInfer<{ readonly [part in keyof S]: string | bigint | number }>;
  /** Selects at most `limit` rows after the position, in the order of the list. */
  select: (tx: Tx, after: Texts<S> | undefined, limit: number, filters: Filters) => Rows<Row>;
}

/** Reads a page as {@link readPage} does. The filters are the parameters of the query other than cursor and limit. */
export function pageOf<
  Row extends object,
  Query extends PageQuery,
  const S extends Shape = typeof TIME_AND_ID,
>(
  postgres: Postgres,
  { tenant_id, project_id = tenant_id }: { tenant_id: string; project_id?: string },
  query: Query,
  { kind, bound, shape, positionOf, select }: StoredList<Row, Omit<Query, keyof PageQuery>, S>,
): Promise<{ rows: Row[]; next_cursor: string | null }> {
  const { cursor, limit, ...filters } = query;
  return readPage<Row, Texts<S>>(
    {
      // The cursor of a list of the tenant's records is bound to the tenant instead of a project.
      scope: { kind, project_id, filters: { ...(filters as CursorScope['filters']), ...bound } },
      shape: (shape ?? TIME_AND_ID) as PositionShape<Texts<S>>,
      positionOf: (row) => [...positionOf(row)].map(String) as unknown as Texts<S>,
      select: (after, count) => postgres.readAsTenant(tenant_id, (tx) => select(tx, after, count, filters)),
    },
    { cursor, limit },
  );
}

/** The envelope of a page, with each row as `show` makes it. */
export async function listOf<
  Row extends object,
  Query extends PageQuery,
  const S extends Shape = typeof TIME_AND_ID,
>(
  postgres: Postgres,
  owner: { tenant_id: string; project_id?: string },
  query: Query,
  { show, ...list }: StoredList<Row, Omit<Query, keyof PageQuery>, S> & { show: (row: Row) => unknown },
): Promise<string> {
  const { rows, next_cursor } = await pageOf(postgres, owner, query, list);
  return envelope(rows.map(show), { next_cursor });
}
