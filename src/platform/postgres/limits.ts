import type { QueueLimits } from '../fair-queue.ts';
import { textArray } from './arrays.ts';
import type { Tx } from './port.ts';

/**
 * How long one kind of caller may keep others waiting. The first three are settings of each connection, so they hold
 * regardless of how the roles in the database are configured.
 */
export interface SessionLimits {
  /** The longest statement. Postgres cancels it (57014). */
  statement_ms: number;
  /** The longest wait for one lock. Postgres refuses the statement (55P03). */
  lock_ms: number;
  /** The longest pause within a transaction. Postgres closes the connection (25P03). */
  idle_in_transaction_ms: number;
  /** For callers that find every connection in use. */
  waiting: QueueLimits;
}

/** Statements of API requests that only read: they wait for a lock only while someone locks the whole table. */
export const API_READS: SessionLimits = {
  statement_ms: 10_000,
  lock_ms: 1_000,
  idle_in_transaction_ms: 10_000,
  waiting: { max_waiting: 1_000, max_wait_ms: 3_000 },
};

/** The statement that asks whether work waits: while it is slow, or a table is locked, loops look for themselves. */
export const WATCHING: SessionLimits = {
  // Its plan, which is made once on each connection, takes the longer part.
  statement_ms: 500,
  lock_ms: 100,
  idle_in_transaction_ms: 1_000,
  waiting: { max_waiting: 1, max_wait_ms: 1_000 },
};

/** Reads of API requests that count or draw from millions of rows. */
export const API_COUNTS: SessionLimits = {
  statement_ms: 60_000,
  lock_ms: 1_000,
  idle_in_transaction_ms: 10_000,
  waiting: { max_waiting: 100, max_wait_ms: 10_000 },
};

/** Transactions of API requests. They wait for rows that the fold is writing. */
export const API_WRITES: SessionLimits = {
  statement_ms: 10_000,
  lock_ms: 3_000,
  idle_in_transaction_ms: 60_000,
  waiting: { max_waiting: 1_000, max_wait_ms: 3_000 },
};

/** Statements and transactions of processors; none of them waits for another system within a transaction. */
export const PROCESSORS: SessionLimits = {
  statement_ms: 60_000,
  lock_ms: 10_000,
  idle_in_transaction_ms: 120_000,
  waiting: { max_waiting: 10_000, max_wait_ms: 30_000 },
};

/** Refreshes of whole segments, which wait for each other. */
export const PATIENT: SessionLimits = {
  statement_ms: 300_000,
  lock_ms: 120_000,
  idle_in_transaction_ms: 120_000,
  waiting: { max_waiting: 1_000, max_wait_ms: 120_000 },
};

/** Requests that wait for a session of their own, which others may hold for seconds. */
export const REQUESTS_WAITING: QueueLimits = { max_waiting: 100, max_wait_ms: 10_000 };

/** The user who owns the schema: migrations, which limit themselves, and the embedded event log. */
export const OWNER: SessionLimits = {
  statement_ms: 0,
  lock_ms: 0,
  idle_in_transaction_ms: 0,
  waiting: { max_waiting: 100_000, max_wait_ms: 60_000 },
};

/** The limits as settings of Postgres: names and values. */
export function limitSettings(limits: SessionLimits): [name: string, value: string][] {
  return [
    ['statement_timeout', String(limits.statement_ms)],
    ['lock_timeout', String(limits.lock_ms)],
    ['idle_in_transaction_session_timeout', String(limits.idle_in_transaction_ms)],
  ];
}

/** Changes settings of the transaction (`is_local`) or of the connection, in one statement. */
export function setAll(sql: Tx, settings: [name: string, value: string][], is_local: boolean) {
  const [names, values] = [settings.map(([name]) => name), settings.map(([, value]) => value)];
  return sql`
    select set_config(name, value, ${is_local})
    from unnest(${textArray(names)}::text::text[], ${textArray(values)}::text::text[]) s (name, value)`;
}

/**
 * Lets no statement of this transaction take longer than `limit_ms`, waits for locks included, and none wait for one lock
 * longer than `lock_ms`.
 */
export async function limitTransaction(tx: Tx, limit_ms: number, lock_ms = limit_ms): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(limit_ms)}, true),
    set_config('lock_timeout', ${String(lock_ms)}, true)`;
}
