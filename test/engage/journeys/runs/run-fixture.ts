import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { notifyAudiences } from '../../../../src/engage/journeys/runs/audience-queries.ts';
import type { Platform } from '../../../../src/platform/platform.ts';
import { startTestService, type TestService, type TestTenant } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { openTestPlatform } from '../../../engines/wiring.ts';
import { messagingClient, type Body } from '../../messaging/messaging-client.ts';

/** A run as the API shows it. */
export interface ShownRun {
  run_id: string;
  journey_id: string;
  journey_version: number;
  player_id: string;
  status: string;
  current_node_id: string;
  started_at: string;
  completed_at: string | null;
  context: Body;
  trigger: Body;
  outcome: string | null;
  error_code: string | null;
  cancelled_by: string | null;
  history: ShownStep[];
}

/** A step as the API shows it. */
export interface ShownStep {
  seq: number;
  node_id: string;
  node_type: string;
  status: string;
  outcome: string | null;
  entered_at: string | null;
  completed_at: string | null;
  next_node_id: string | null;
  error_code: string | null;
  due_at?: string | null;
  message_send_id?: string;
  message_status?: string;
}

/** A clock that tests move on. */
export interface MovedClock {
  now_ms(): number;
  /** Moves the clock on by this many milliseconds. */
  pass(ms: number): void;
}

/** A service whose clock tests can move. */
export async function startMovedService(
  changed: (platform: Platform) => Partial<Platform> = () => ({}),
): Promise<{ service: TestService; clock: MovedClock }> {
  let ahead_ms = 0;
  const clock: MovedClock = {
    now_ms: () => Date.now() + ahead_ms,
    pass(ms) {
      ahead_ms += ms;
    },
  };
  const service = await startTestService({}, async (config) => {
    const platform = await openTestPlatform(config);
    return { ...platform, clock, ...changed(platform) };
  });
  return { service, clock };
}

export const wait = (id: string, duration_ms: number, next: string) => ({
  id,
  type: 'wait',
  duration_ms,
  next,
});
export const update = (id: string, traits: Body, next: string) => ({
  id,
  type: 'update_player',
  set: { traits },
  next,
});
export const end = (id = 'end') => ({ id, type: 'end' });

/** What a CRM manager does with journeys. */
export function runFixture(service: TestService, tenant: TestTenant = service) {
  const client = messagingClient(service, tenant);
  const { service: sql } = service.platform.postgres;
  const { tenant_id, project_id } = tenant;
  let made = 0;
  const on = {
    client,
    sql,
    /** An active journey of these nodes, of which the first is the start. */
    async journey(
      nodes: readonly (Body & { id: string })[],
      trigger: Body = { kind: 'api' },
      settings: Body = {},
    ) {
      const journey_id = randomUUID();
      const graph = { start_node_id: nodes[0]?.id, nodes };
      const [name, now] = [`journey ${++made}`, new Date()];
      const [written, drawn, set] = [trigger, graph, settings].map((part) => JSON.stringify(part));
      const event = trigger['kind'] === 'event' ? String(trigger['event']) : null;
      await sql`
        insert into journeys (tenant_id, project_id, journey_id, name, status, trigger, graph, settings, version,
          trigger_event, activated_at, created_at, updated_at)
        values (${tenant_id}, ${project_id}, ${journey_id}, ${name}, 'active', ${written ?? ''}::text::jsonb,
          ${drawn ?? ''}::text::jsonb, ${set ?? ''}::text::jsonb, 1, ${event}, ${now}, ${now}, ${now})`;
      await sql`
        insert into journey_versions (tenant_id, project_id, journey_id, version, trigger, graph, settings, published_at)
        values (${tenant_id}, ${project_id}, ${journey_id}, 1, ${written ?? ''}::text::jsonb,
          ${drawn ?? ''}::text::jsonb, ${set ?? ''}::text::jsonb, ${now})`;
      const watched = [
        ...nodes.filter(({ type }) => type === 'wait_for_event').map(({ event }) => [event, 'wait'] as const),
        ...((settings['exit_on'] ?? []) as Body[]).map(({ event, segment_exited }) =>
          event === undefined ? ([segment_exited, 'segment_exited'] as const) : ([event, 'exit'] as const),
        ),
        ...(settings['goal'] === undefined ? [] : [[(settings['goal'] as Body)['event'], 'goal'] as const]),
      ];
      for (const [name_of_event, kind] of watched) {
        await sql`
          insert into journey_watched (tenant_id, project_id, event, journey_id, version, kind)
          values (${tenant_id}, ${project_id}, ${String(name_of_event)}, ${journey_id}, 1, ${kind})
          on conflict do nothing`;
      }
      await notifyAudiences(sql);
      return journey_id;
    },
    trigger: (journey_id: string, player_id: string, context?: Body, headers: Record<string, string> = {}) =>
      client.api<ShownRun>('POST', `/v1/journeys/${journey_id}/trigger`, { player_id, context }, headers),
    /** Starts a run; returns its id. */
    async start(journey_id: string, player_id: string, context?: Body): Promise<string> {
      const { status, data, error } = await on.trigger(journey_id, player_id, context);
      expect(status, JSON.stringify(error)).toBe(201);
      return data.run_id;
    },
    run: async (journey_id: string, run_id: string) =>
      (await client.api<ShownRun>('GET', `/v1/journeys/${journey_id}/runs/${run_id}`)).data,
    /** The run once it is in this status, or at this node. */
    reached: (journey_id: string, run_id: string, where: string) =>
      until(`the run reaches ${where}`, async (saw) => {
        const run = saw(await on.run(journey_id, run_id));
        const stands = run.history.at(-1)?.status === 'waiting' && run.history.at(-1)?.entered_at !== null;
        return run.status === where || (run.current_node_id === where && stands) ? run : undefined;
      }),
    runs: async (journey_id: string, query = '') =>
      client.api<ShownRun[]>('GET', `/v1/journeys/${journey_id}/runs${query}`),
    /** Begins runs of a version straight in Postgres, due now; returns their ids. */
    async begin(journey_id: string, player_ids: readonly string[], node_id: string): Promise<string[]> {
      const rows = await sql<{ run_id: string }[]>`
        with begun as (
          insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
            due_at, trigger_key, re_entry, trigger, context, started_at)
          select ${tenant_id}, ${project_id}, new_id(), ${journey_id}, 1, p::uuid, 'running', ${node_id}, 1,
            date_trunc('milliseconds', now()), new_id()::text, 'always', '{"kind": "api"}', '{}', now()
          from unnest(${`{${player_ids.join(',')}}`}::text::text[]) p
          returning run_id, due_at
        ), timers as (
          insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
          select ${tenant_id}, ${project_id}, due_at, run_id, 1 from begun
        )
        select run_id from begun`;
      return rows.map(({ run_id }) => run_id);
    },
    player: async (player_id: string) => (await client.api('GET', `/v1/players/${player_id}`)).data,
  };
  return on;
}
export type RunFixture = ReturnType<typeof runFixture>;
