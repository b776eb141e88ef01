import type { ISql, PendingQuery, Row, Sql } from 'postgres';

/** Types that our pools add to the driver's: 64-bit integers are `bigint` in both directions, `text[]` is an array. */
type Types = { bigint: bigint; texts: (string | null)[] };

/** A driver instance. */
export type Driver = Sql<Types>;

/** A share of a pool of connections. */
export interface Db extends Driver {
  /** A part of it for one purpose: at most `max` of its statements run at once, so that others always find a connection. */
  share(max: number): Db;
}

/** Anything that runs statements: a pool, or one of its transactions. */
export type Tx = ISql<Types>;

/**
 * A connection of its own, for work that holds advisory locks while it waits for other systems: a session holds them
 * without a transaction, so without a transaction id or a snapshot that others would wait for. All locks end with the
 * session. Every statement that the locks protect runs in one of the session's transactions: once the connection, and
 * with it the locks, is lost, none of them can commit.
 */
export interface Session {
  /** Statements outside of transactions, such as those that take locks. */
  sql: Tx;
  /** Runs `work` in a transaction of this connection. Rejects with `ConnectionLost` when the connection was lost. */
  begin<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** Gives `work` a session of its own; when all connections for sessions are in use, callers wait in order of arrival. */
export type RunSession = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

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
   * As `readAsTenant`, for statements over millions of rows: they may take a minute, a few at once, so that other reads do
   * not wait for them. `settings` of Postgres hold for this statement. `signal` cancels it: then it
   * rejects with the reason of the signal.
   */
  countAsTenant<Result extends Row>(
    tenant_id: string,
    statement: (tx: Tx) => PendingQuery<Result[]>,
    settings?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Result[]>;
  /** The service role, used by processors and provisioning. It sees every tenant, so every query must name one. */
  service: Db;
  /**
   * The service role for what requests look up before anything else: API keys, memberships, projects, providers that
   * call back, and what is known of a tenant. Its connections are its own, and its statements wait 1 s for a lock, so
   * no processor that waits for a lock holds up authentication. Each kind of look-up takes a share of it.
   */
  lookups: Db;
  /**
   * The service role on one connection that keeps the plan of each statement, for the one that is asked several times a
   * second (`openWorkWatch`): to plan it takes ten times as long as to run it.
   */
  watch: Db;
  /** Sessions of the service role, for processors. */
  session: RunSession;
  /**
   * Sessions of the service role for jobs that wait long for locks or work for hours, such as a comparison of all stores:
   * they must not hold up processors.
   */
  patientSession: RunSession;
  /** As `patientSession`, for requests, whose callers wait: jobs always leave three to them, and they leave two to jobs. */
  requestSession: RunSession;
  /** Rejects when Postgres does not answer; it takes a share of the look-ups, so it waits for no processor. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
