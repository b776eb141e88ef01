import { walkRuns } from '../../../../src/engage/journeys/runs/sweep-queries.ts';
import type { Db } from '../../../../src/platform/postgres/port.ts';
import type { Journey, World } from './world.ts';

/** A run as Postgres has it. */
export interface StoredRun {
  run_id: string;
  player_id: string;
  status: string;
  node_id: string;
  seq: number;
  outcome: string | null;
  error_code: string | null;
  cancelled_by: string | null;
}

/** A step as Postgres has it. */
export interface StoredStep {
  run_id: string;
  seq: number;
  node_id: string;
  node_type: string;
  status: string;
  outcome: string;
  next_node_id: string | null;
}

/** The runs of a journey, the oldest first. */
export async function runsOf(
  { sql }: { sql: Db },
  { journey_id }: Pick<Journey, 'journey_id'>,
): Promise<StoredRun[]> {
  return sql<StoredRun[]>`
    select run_id, player_id, status, node_id, seq, outcome, error_code, cancelled_by from journey_runs
    where journey_id = ${journey_id} order by started_at, run_id`;
}

/** The steps of a run in their order. */
export async function stepsOf({ sql }: { sql: Db }, run_id: string): Promise<StoredStep[]> {
  return sql<StoredStep[]>`
    select run_id, seq, node_id, node_type, status, outcome, next_node_id from journey_steps
    where run_id = ${run_id} order by seq`;
}

/** What is wrong with the timers of running runs: each has exactly one, unless its journey is held. */
export async function complaintsAboutTimers({ sql }: { sql: Db }): Promise<string[]> {
  const { stuck } = await walkRuns(sql, undefined, 100_000, new Date(0));
  return stuck.map(({ run_id, seq }) => `run ${run_id} has no timer for its step ${seq}`);
}

/** What is wrong with a run that has ended, beyond what ended it. */
export async function complaintsAboutEnded(
  world: World,
  journey: Journey,
  run: StoredRun,
): Promise<string[]> {
  const { sql } = world;
  const complaints: string[] = [];
  const say = (what: string) => complaints.push(`run ${run.run_id} (${run.status}): ${what}`);
  if (run.status === 'running') say(`it still runs, at ${run.node_id}`);
  if (run.status === 'failed') say(`it failed: ${run.error_code ?? ''}`);
  const steps = await stepsOf(world, run.run_id);
  complaints.push(...complaintsAboutPath(run, steps, journey.written.graph.start_node_id));
  const left = await sql<{ what: string }[]>`
    select 'a wait' as what from journey_waits where run_id = ${run.run_id}
    union all select 'a pending delivery' from webhook_deliveries
      where run_id = ${run.run_id} and status = 'pending' and ${run.status === 'cancelled'}
    union all select 'a queued message' from message_sends
      where journey_run_id = ${run.run_id} and status = 'queued' and ${run.status === 'cancelled'}`;
  for (const { what } of left) say(`${what} is left of it`);
  const sends = await sql<{ dedup_key: string; player_id: string }[]>`
    select dedup_key, player_id from message_sends where journey_run_id = ${run.run_id}`;
  const sent = steps.filter(({ node_type, outcome }) => node_type === 'send_message' && outcome === 'queued');
  if (sends.length !== sent.length) say(`${sends.length} messages for ${sent.length} steps`);
  for (const { player_id } of sends) if (player_id !== run.player_id) say('a message is to another player');
  return complaints;
}

/** What is wrong with the steps of a run that has ended: they are a path from the start, numbered without gaps. */
export function complaintsAboutPath(
  run: Pick<StoredRun, 'run_id' | 'seq' | 'node_id'>,
  steps: readonly StoredStep[],
  start_node_id: string,
): string[] {
  const shown = steps.map(({ seq, node_id, outcome }) => `${seq} ${node_id} ${outcome}`).join(', ');
  const is_path =
    steps.length > 0 &&
    steps.every((step, i) => {
      const [before, expected] = [steps[i - 1], i === 0 ? start_node_id : steps[i - 1]?.next_node_id];
      return step.seq === (before?.seq ?? 0) + 1 && step.node_id === expected;
    });
  const last = steps.at(-1);
  const is_end = last?.next_node_id === null && last.seq === run.seq && last.node_id === run.node_id;
  return is_path && is_end
    ? []
    : [`run ${run.run_id}: its steps are no path to ${run.seq} ${run.node_id}: ${shown}`];
}
