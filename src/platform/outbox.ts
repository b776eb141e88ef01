import type { EventLog, NewRecord } from './event-log/port.ts';
import type { Postgres, Tx } from './postgres/port.ts';
import { flushCommits } from './postgres/commits.ts';
import { requireLocks, tryLock } from './postgres/session-locks.ts';

/**
 * Rows of Postgres that wait to be appended to a topic of the event log. They are written in the transaction that makes
 * the change which they report, and taken out once they are on the log.
 */
export interface Outbox<Row> {
  /** Names its lock. */
  name: string;
  topic: string;
  /** The most rows of a turn. */
  max_rows: number;
  /** At most `limit` rows that may be appended now, in the order in which they are. */
  read(sql: Tx, limit: number): PromiseLike<readonly Row[]>;
  /** What is appended for these rows. Where another store must have the rows before the log, it is written here. */
  recordsOf(rows: readonly Row[]): readonly NewRecord[] | Promise<readonly NewRecord[]>;
  /** Takes rows out that are on the log. */
  remove(tx: Tx, rows: readonly Row[]): Promise<void>;
}

/**
 * Appends the rows of one turn to the log and takes them out; returns whether there may be more. One process at a time
 * does so for each outbox, under an advisory lock of its session; the others return false at once. So a row is appended
 * once, unless the process or its connection is lost between the append and the removal: then it is appended again, as the
 * same records. Consumers know an event by its ids, and those that go by offsets look for the earlier record.
 */
export async function publishOutbox<Row>(
  { postgres, eventLog }: { postgres: Pick<Postgres, 'session'>; eventLog: Pick<EventLog, 'append'> },
  outbox: Outbox<Row>,
): Promise<boolean> {
  const lock = `outbox ${outbox.name}`;
  return postgres.session(async (session) => {
    if (!(await tryLock(session, lock))) return false;
    const rows = await outbox.read(session.sql, outbox.max_rows);
    if (rows.length === 0) return false;
    const records = await outbox.recordsOf(rows);
    // What is on the log must not be lost in Postgres: its rows may be of commits that are not on disk yet.
    await requireLocks(session, flushCommits);
    if (records.length > 0) await eventLog.append(outbox.topic, records);
    await session.begin((tx) => outbox.remove(tx, rows));
    return rows.length === outbox.max_rows;
  });
}
