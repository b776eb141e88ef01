import type { Sql, TransactionSql } from 'postgres';

export type Tx = TransactionSql;

/** Postgres as the service uses it (design 4): one door per kind of caller. */
export interface Postgres {
  /**
   * Runs `work` in one transaction as the API role, which row-level security binds to `tenant_id`.
   * Statements issued together travel together. Rejecting rolls back.
   */
  asTenant<T>(tenant_id: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** The service role of processors, sign-in and provisioning: sees every tenant, so every query names one. */
  service: Sql;
  close(): Promise<void>;
}
