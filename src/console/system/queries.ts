import type { PendingQuery } from 'postgres';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';

/** A job that is not tried again. */
export interface GivenUpJob {
  task: string;
  attempts: number;
  last_error: string | null;
  created_at: Date;
  given_up_at: Date;
}

/** The last jobs of the transaction's tenant that are not tried again. */
export function selectJobsGivenUp(tx: Tx, most: number): PendingQuery<GivenUpJob[]> {
  return tx<GivenUpJob[]>`select * from jobs_given_up(${most})`;
}

/** When the stores of the tenant were compared last; no row: never. */
export function selectReconciliation(
  tx: Tx,
  tenant_id: string,
): PendingQuery<{ ended_at: Date; differences: bigint }[]> {
  return tx<{ ended_at: Date; differences: bigint }[]>`
    select ended_at, differences from reconciliations where tenant_id = ${tenant_id}`;
}

/** The version of Postgres. */
export function selectPostgresVersion(tx: Tx): PendingQuery<{ version: string }[]> {
  return tx<{ version: string }[]>`select current_setting('server_version') as version`;
}

/** The version of ClickHouse. */
export async function readClickHouseVersion(clickhouse: ClickHouse): Promise<string | null> {
  const [row] = await clickhouse.query<{ version: string }>('select version() as version');
  return row?.version ?? null;
}
