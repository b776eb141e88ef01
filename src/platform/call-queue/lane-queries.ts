import type { PendingQuery, Row } from 'postgres';
import type { Backlog } from '../backlog-gauge.ts';
import type { Tx } from '../postgres/port.ts';
import type { Waiting } from './call-queue.ts';

/** The table of a queue, and the partial index by which its lanes are found. */
export interface QueueTable<Name extends string> {
  table: string;
  /** The columns of a lane with their types, in the order of the index, which ends with `due`. */
  lane: Readonly<Record<Name, 'uuid' | 'text'>>;
  /** The column with the time at which a row is due. */
  due: string;
  /** The condition of the index. */
  waits: (tx: Tx) => PendingQuery<Row[]>;
}

/**
 * Up to `limit` lanes in which something waits, in the order of their keys after `after`, each with its earliest time. It
 * hops from lane to lane in the index, so it reads one row of each, however many wait.
 */
export function waitingLanes<Name extends string>(
  tx: Tx,
  { table, lane, due, waits }: QueueTable<Name>,
  after: Readonly<Record<Name, string>> | undefined,
  limit: number,
): PendingQuery<Waiting<Record<Name, string>>[]> {
  const names: readonly string[] = Object.keys(lane);
  const listed = (one: (name: string) => PendingQuery<Row[]>) =>
    names.map(one).reduce((before, next) => tx`${before}, ${next}`);
  const columns = listed((name) => tx`${tx(name)}`);
  const first = tx`select ${columns}, ${tx(due)} as next_at from ${tx(table)} where ${waits(tx)}`;
  const order = tx`order by ${columns}, ${tx(due)} limit 1`;
  const beyond = (key: PendingQuery<Row[]>) => tx`and (${columns}) > (${key})`;
  const given = (name: string) =>
    lane[name as Name] === 'uuid'
      ? tx`${after?.[name as Name] ?? ''}::uuid`
      : tx`${after?.[name as Name] ?? ''}::text`;
  return tx<Waiting<Record<Name, string>>[]>`
    with recursive lanes as (
      (${first} ${after === undefined ? tx`` : beyond(listed(given))} ${order})
      union all
      select n.* from lanes l cross join lateral (
        ${first} ${beyond(listed((name) => tx`${tx(`l.${name}`)}`))} ${order}) n
    )
    select * from lanes limit ${limit}`;
}

/** A row while one of a queue is due, found by the index of the times at which rows are due. */
export function dueWork<Name extends string>(
  sql: Tx,
  { table, due, waits }: Omit<QueueTable<Name>, 'lane'>,
  now: Date,
): PendingQuery<Row[]> {
  return sql`select from ${sql(table)} where ${waits(sql)} and ${sql(due)} <= ${now} order by ${sql(due)} limit 1`;
}

/** How many rows of a queue are due, and since when, counted up to `most`. */
export async function dueBacklog<Name extends string>(
  tx: Tx,
  { table, due, waits }: Omit<QueueTable<Name>, 'lane'>,
  most: number,
): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(due_at))::float8 as oldest_ms from (
      select ${tx(due)} as due_at from ${tx(table)} where ${waits(tx)} and ${tx(due)} <= now() limit ${most}) d`;
  return row ?? { items: 0, oldest_ms: null };
}
