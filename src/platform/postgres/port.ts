import type { ISql, PendingQuery, Row, Sql } from 'postgres';

/** The types our pools add to the driver's: 64-bit integers are `bigint` both ways, `text[]` an array of texts. */
type Types = { bigint: bigint; texts: (string | null)[] };

/** A pool of connections. */
export type Db = Sql<Types>;

/** Whatever statements can be issued on: a pool, or one of its transactions. */
export type Tx = ISql<Types>;

/** Postgres as the service uses it: one door per kind of caller. */
export interface Postgres {
  /**
   * Runs `work` in one transaction as the API role, which row-level security binds to `tenant_id`.
   * Statements issued together travel together. Rejecting rolls back.
   */
  asTenant<T>(tenant_id: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs one reading statement in a read-only transaction of its own, bound to `tenant_id` in the same way.
   * Everything travels in one round trip, so it costs little more than the statement alone.
   */
  readAsTenant<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
  ): Promise<Result[]>;
  /** The service role of processors, sign-in and provisioning: sees every tenant, so every query names one. */
  service: Db;
  /**
   * The service role for transactions that last, or wait long for others: a few connections of their own, so that however
   * many there are they take none that a processor needs. The rest waits its turn.
   */
  patient: Db;
  /** Rejects when Postgres does not answer now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
