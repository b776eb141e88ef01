import type { ReactNode } from 'react';
import type { ApiError } from '@player-engagement/client/admin';
import { Grid, type Column } from './grid.tsx';
import { Failed, Loading, Stale } from './states.tsx';

/** What {@link Listed} needs of a list that is read page by page. */
export interface Pages<Row> {
  rows: Row[] | undefined;
  error: ApiError | null;
  dataUpdatedAt: number;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  refetch: () => unknown;
  fetchNextPage: () => unknown;
}

interface ListedProps<Row> {
  pages: Pages<Row>;
  /** What is listed. */
  label: string;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  onOpen?: (row: Row) => void;
  /** Shown when there is nothing. */
  empty: ReactNode;
}

/** A list in its four states, with its further pages. */
export function Listed<Row>({ pages, label, columns, keyOf, onOpen, empty }: ListedProps<Row>) {
  const { rows, error } = pages;
  const retry = () => void pages.refetch();
  if (rows === undefined)
    return error === null ? <Loading what={label} /> : <Failed error={error} retry={retry} />;
  return (
    <>
      {error === null ? null : <Stale since_ms={pages.dataUpdatedAt} error={error} retry={retry} />}
      {rows.length === 0 ? (
        empty
      ) : (
        <Grid
          label={label}
          rows={rows}
          columns={columns}
          keyOf={keyOf}
          onOpen={onOpen}
          onMore={pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
          is_loading_more={pages.isFetchingNextPage}
        />
      )}
    </>
  );
}
