import type { PendingQuery } from 'postgres';
import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { Bindings } from '../../segments/sql/bindings.ts';
import { EventScan } from '../../segments/sql/event-scan.ts';
import { OWNER, SCOPE } from '../../segments/sql/owner-sql.ts';
import type { JourneyRef } from './graph/queries.ts';
import type { Settings } from './graph/shapes.ts';
import type { RunStatus } from './runs/run-row.ts';

const LIMITS = 'settings max_execution_time = 60, max_memory_usage = 4000000000';

/** A journey, or one version of it. */
export interface StatsScope extends JourneyRef {
  version: number | undefined;
}

/** How many runs are in a status, and where: `node_id` is null for runs that have ended. */
export interface RunCount {
  status: RunStatus;
  node_id: string | null;
  runs: bigint;
}

/** Counts the runs by status, and those that run by the node on which they stand. */
export function countRuns(
  tx: Tx,
  { tenant_id, project_id, journey_id, version }: StatsScope,
): PendingQuery<RunCount[]> {
  const isOf = tx`journey_id = ${journey_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
    ${version === undefined ? tx`` : tx`and version = ${version}`}`;
  // Ended runs of all versions are counted in an index alone.
  return tx<RunCount[]>`
    select status, node_id, count(*) as runs from journey_runs where ${isOf} and status = 'running'
    group by status, node_id
    union all
    select status, null, count(*) from journey_runs
    where ${isOf} and status in ('completed', 'failed', 'cancelled') group by status`;
}

/** The steps at a node that are done; counts as text. */
export interface NodeCount {
  node_id: string;
  node_type: string;
  done: string;
  failed: string;
  /** The run left the journey here: by an event, by hand, or with its journey or player. */
  exited: string;
}

/** Counts the steps of every node that has some. */
export async function countSteps(clickhouse: ClickHouse, scope: StatsScope): Promise<NodeCount[]> {
  return clickhouse.query<NodeCount>(
    `select node_id, argMax(node_type, version) as node_type, toString(count()) as done,
      toString(countIf(status = 'failed')) as failed,
      toString(countIf(outcome in ('exited', 'cancelled'))) as exited
    from journey_steps final where ${ofJourney(scope)} group by node_id ${LIMITS}`,
    paramsOf(scope),
  );
}

/** The messages of a node by stage, named as the counters of campaigns; counts as text. */
export interface SendCount {
  node_id: string;
  recipients_total: string;
  sent: string;
  delivered: string;
  opened: string;
  clicked: string;
  bounced: string;
  failed: string;
  capped: string;
}

/** Counts the messages of every node that has some; as for campaigns, a later stage implies the earlier ones. */
export async function countSendsOfNodes(clickhouse: ClickHouse, scope: StatsScope): Promise<SendCount[]> {
  const ofVersion =
    scope.version === undefined
      ? 'true'
      : `run_id in (select run_id from journey_runs final where ${ofJourney(scope)})`;
  const counts = Object.entries(STAGES).map(([name, is]) => `toString(countIf(${is})) as ${name}`);
  return clickhouse.query<SendCount>(
    `select node_id, toString(count()) as recipients_total, ${counts.join(', ')}
    from journey_sends final where ${ofJourney({ ...scope, version: undefined })} and ${ofVersion}
    group by node_id ${LIMITS}`,
    paramsOf(scope),
  );
}

const STAGES = {
  sent: "sent_at is not null or status in ('sent', 'delivered', 'opened', 'clicked', 'bounced')",
  delivered:
    "delivered_at is not null or opened_at is not null or clicked_at is not null or status in ('delivered', 'opened', 'clicked')",
  opened: "opened_at is not null or clicked_at is not null or status in ('opened', 'clicked')",
  clicked: "clicked_at is not null or status = 'clicked'",
  bounced: "bounced_at is not null or status = 'bounced'",
  failed: "status = 'failed'",
  capped: "status = 'capped'",
};

/** How many runs there are, and how many have reached the goal; counts as text. */
export interface GoalCount {
  runs: string;
  reached: string;
  held_out_runs: string;
  held_out_reached: string;
}

/**
 * Counts the runs whose player had the goal's event within the window that begins with the run, whether the run lasted so
 * long or not. Runs and goal events of a player are sorted together, latest first: the goal event before a run in this
 * order is the first one at or after its start.
 */
export async function countGoal(
  clickhouse: ClickHouse,
  scope: StatsScope,
  { event, where, window_days }: NonNullable<Settings['goal']>,
): Promise<GoalCount> {
  const bindings = new Bindings();
  const name = bindings.bind('String', event);
  const set = { event, where, window: { kind: 'always' } } as const;
  const scan = new EventScan([set], bindings, { of_players: false, of_presence: false });
  const isGoal = scan.whereSql(set) || 'true';
  const window = 'toIntervalDay({window_days:UInt32})';
  const [row] = await clickhouse.query<GoalCount>(
    `with runs as (
      select started_at as at, is_held_out, ${OWNER} from journey_runs final
      where ${ofJourney(scope)} and is_held_out_globally <> 1)
    select toString(countIf(is_held_out = 0)) as runs,
      toString(countIf(is_held_out = 0 and is_reached)) as reached,
      toString(countIf(is_held_out = 1)) as held_out_runs,
      toString(countIf(is_held_out = 1 and is_reached)) as held_out_reached
    from (
      select is_run, is_held_out,
        countIf(not is_run) over later > 0 and anyLastIf(at, not is_run) over later < at + ${window} as is_reached
      from (
        select owner, at, toUInt8(1) as is_run, is_held_out from runs
        union all
        select ${OWNER}, occurred_at, toUInt8(0), toUInt8(0)
        from events final
        where ${SCOPE} and event = ${name} and (${isGoal}) and occurred_at >= (select min(at) from runs)
          and occurred_at < (select max(at) from runs) + ${window}
      )
      window later as (partition by owner order by at desc, is_run rows between unbounded preceding and current row)
    )
    where is_run ${LIMITS}`,
    { ...bindings.params, ...paramsOf(scope), window_days },
  );
  if (row === undefined) throw new Error('an aggregate gave no row');
  return row;
}

function ofJourney({ version }: Pick<StatsScope, 'version'>): string {
  const ofAll = `${SCOPE} and journey_id = {journey_id:UUID}`;
  return version === undefined ? ofAll : `${ofAll} and version = {version:UInt32}`;
}

function paramsOf({ tenant_id, project_id, journey_id, version }: StatsScope): Record<string, unknown> {
  return { tenant_id, project_id, journey_id, ...(version !== undefined && { version }) };
}
