import type { ISql, PendingQuery, Row, Sql } from 'postgres';

/** Types that our pools add to the driver's: 64-bit integers are `bigint` in both directions, `text[]` is an array. */
type Types = { bigint: bigint; texts: (string | null)[] };

/** A pool of connections. */
export type Db = Sql<Types>;

/** Anything that runs statements: a pool, or one of its transactions. */
export type Tx = ISql<Types>;

/** Postgres as the service uses it: one member per kind of caller. */
export interface Postgres {
  /**
   * Runs `work` in one transaction as the API role; row-level security restricts it to `tenant_id`.
   * Statements issued without awaiting in between are sent together. If `work` rejects, the transaction is rolled back.
   */
  asTenant<T>(tenant_id: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs one reading statement in a read-only transaction of its own, restricted to `tenant_id` in the same way.
   * It takes one round trip, so it costs little more than the statement alone.
   */
  readAsTenant<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
  ): Promise<Result[]>;
  /**
   * The service role, used by processors, sign-in and provisioning. It sees every tenant, so every query must name one.
   */
  service: Db;
  /**
   * The service role for transactions that run long, or wait long for locks. They share a few connections of their own,
   * so that they never take a connection that a processor needs. Further ones wait for a free connection.
   */
  patient: Db;
  /** Rejects when Postgres does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
