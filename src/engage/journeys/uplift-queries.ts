import type { PendingQuery } from 'postgres';
import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { OWNER, SCOPE } from '../../segments/sql/owner-sql.ts';
import type { JourneyRef } from './graph/queries.ts';

/** What share of players each version of a journey holds out, in percent. */
export function selectHoldouts(
  tx: Tx,
  { tenant_id, project_id, journey_id }: JourneyRef,
): PendingQuery<{ version: number; holdout_percent: number }[]> {
  return tx<{ version: number; holdout_percent: number }[]>`
    select version, coalesce((settings ->> 'holdout_percent')::double precision, 0) as holdout_percent
    from journey_versions
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_id = ${journey_id}`;
}

/** How many players came into a journey by each of its versions, as digits: each by the first of its runs. */
export async function countVersions(
  clickhouse: ClickHouseQueries,
  { tenant_id, project_id, journey_id }: JourneyRef,
): Promise<{ version: number; players: string }[]> {
  return clickhouse.query<{ version: number; players: string }>(
    `select first_version as version, toString(count()) as players
    from (
      select owner, argMin(version, started_at) as first_version
      from (
        select version, started_at, ${OWNER} from journey_runs final
        where ${SCOPE} and journey_id = {journey_id:UUID} and is_held_out_globally = 0)
      group by owner)
    group by first_version settings max_execution_time = 60`,
    { tenant_id, project_id, journey_id },
  );
}
