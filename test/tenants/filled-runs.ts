import { randomUUID } from 'node:crypto';
import type { Platform } from '../../src/platform/platform.ts';

/** The project, and a player of it. */
interface Owner {
  tenant_id: string;
  project_id: string;
  player_id: string;
}

/** Creates an active journey with a run that waits for a day; returns their ids. */
export async function fillRuns(
  { postgres }: Pick<Platform, 'postgres'>,
  { tenant_id, project_id, player_id }: Owner,
): Promise<{ journey_id: string; run_id: string }> {
  const { service: sql } = postgres;
  const [journey_id, run_id] = [randomUUID(), randomUUID()];
  const trigger = '{"kind": "api"}';
  const graph = JSON.stringify({
    start_node_id: 'w',
    nodes: [
      { id: 'w', type: 'wait', duration_ms: 86_400_000, next: 'end' },
      { id: 'end', type: 'end' },
    ],
  });
  await sql`
    insert into journeys (tenant_id, project_id, journey_id, name, status, trigger, graph, settings, version,
      activated_at, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${journey_id}, ${`journey ${journey_id}`}, 'active', ${trigger}::text::jsonb,
      ${graph}::text::jsonb, '{}', 1, now(), now(), now())`;
  await sql`
    insert into journey_versions (tenant_id, project_id, journey_id, version, trigger, graph, settings, published_at)
    values (${tenant_id}, ${project_id}, ${journey_id}, 1, ${trigger}::text::jsonb, ${graph}::text::jsonb, '{}', now())`;
  await sql`
    with begun as (
      insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
        entered_at, due_at, trigger_key, re_entry, trigger, context, started_at)
      values (${tenant_id}, ${project_id}, ${run_id}, ${journey_id}, 1, ${player_id}, 'running', 'w', 1, now(),
        date_trunc('milliseconds', now() + interval '1 day'), 'filled', 'always', ${trigger}::text::jsonb, '{}', now())
      returning due_at
    )
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select ${tenant_id}, ${project_id}, due_at, ${run_id}, 1 from begun`;
  return { journey_id, run_id };
}
