import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';

/**
 * A telephone number as it is compared, whatever its spelling: {@link dialled}. What is none, in lower case. The column
 * `dialled` of suppressions is of this expression.
 */
export function spelledAs(tx: Tx, address: PendingQuery<Row[]>): PendingQuery<Row[]> {
  return tx`coalesce(nullif(case when ${address} !~ '[[:alpha:]@]' then ${dialled(tx, address)} end, ''), lower(${address}))`;
}

/** The digits of an international call: without separators, and without zeros that stand for `+` or a national call. */
export function dialled(tx: Tx, phone: PendingQuery<Row[]>): PendingQuery<Row[]> {
  return tx`ltrim(regexp_replace(${phone}, '[(]0[)]|[^0-9]', '', 'g'), '0')`;
}
