/** Revisions of one epoch: transaction ids, or numbers of changes, stay below this. */
export const REVISIONS_OF_EPOCH = 2n ** 48n;

/**
 * SQL of Postgres for a row's revision in ClickHouse: the epoch of the database, then `within`, a numeric expression that
 * grows within one life of it. The subquery is evaluated once per statement.
 */
export function revisionSql(within: string): string {
  return `((select coalesce(max(epoch), 0) from database_epochs) * ${REVISIONS_OF_EPOCH}::numeric + ${within})`;
}
