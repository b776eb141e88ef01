import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { OWNER, SCOPE } from '../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** How many members of a segment have the event since a time, in milliseconds since the epoch. */
export async function countGoalMembers(
  clickhouse: ClickHouseQueries,
  { tenant_id, project_id }: ProjectRef,
  goal: { segment_id: string; event: string; since_ms: number },
): Promise<number> {
  const [row] = await clickhouse.query<{ members: string }>(
    `select toString(uniqExact(owner)) as members
    from (
      select ${OWNER} from events
      where ${SCOPE} and event = {event:String}
        and occurred_at >= fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC'))
    where owner in (
      select player_id from segment_members where ${SCOPE} and segment_id = {segment_id:UUID}
      group by player_id having argMax(is_deleted, revision) = 0)
    settings max_execution_time = 20, max_memory_usage = 3000000000`,
    { tenant_id, project_id, ...goal },
  );
  return Number(row?.members ?? 0);
}
