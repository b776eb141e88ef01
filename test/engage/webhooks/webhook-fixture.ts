import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { v5 as uuidv5 } from 'uuid';
import { readConfig } from '../../../src/config.ts';
import type { CallWebhookNode } from '../../../src/engage/journeys/graph/shapes.ts';
import { sealHeaders } from '../../../src/engage/journeys/graph/webhook-headers.ts';
import { loadCredentialsKeys } from '../../../src/engage/providers/credentials.ts';
import { insertDeliveries, type NewDelivery } from '../../../src/engage/webhooks/delivery-queries.ts';
import { DELIVERIES_CHANNEL } from '../../../src/engage/webhooks/wake-queries.ts';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient } from '../messaging/messaging-client.ts';

/** A delivery as the API shows it. */
export interface ShownDelivery {
  event_id: string;
  run_id: string;
  node_id: string;
  status: string;
  attempts: number;
  next_attempt_at: string | null;
  last_attempt_at: string | null;
  response_status: number | null;
  response: string | null;
  error_code: string | null;
  reason: string | null;
}

/** A run as its row has it. */
export interface StoredRun {
  status: string;
  seq: number;
  woken_by: unknown;
  due_at: Date | null;
  context: Record<string, unknown>;
}

const NODE: CallWebhookNode = {
  id: 'n4',
  name: undefined,
  type: 'call_webhook',
  next: 'end',
  url: '',
  headers: {},
  data: {},
  timeout_ms: 10_000,
  retry: { max_attempts: 5, backoff_ms: 20 },
  on_error: 'continue',
  wait_for_response: true,
  save_as: undefined,
};

/** Journeys, runs that stand at a webhook node, and their deliveries, in one project of a service. */
export function webhookFixture(service: TestService, tenant: TestTenant = service) {
  const client = messagingClient(service, tenant);
  const sql = service.platform.postgres.service;
  const { tenant_id, project_id } = tenant;
  const on = {
    client,
    sql,
    /** Makes a secret; returns its text. */
    async secret(): Promise<string> {
      const { status, data, error } = await client.api('POST', '/v1/webhook-secrets');
      expect(status, JSON.stringify(error)).toBe(201);
      return String(data['secret']);
    },
    /** An active journey, as its own endpoints write it. */
    async journey(): Promise<string> {
      const journey_id = randomUUID();
      await sql`
        insert into journeys (tenant_id, project_id, journey_id, name, status, trigger, graph, settings, version,
          activated_at, created_at, updated_at)
        values (${tenant_id}, ${project_id}, ${journey_id}, 'journey', 'active', '{}', '{}', '{}', 1, now(), now(), now())`;
      return journey_id;
    },
    /** A run that rests at the node for a day, and its delivery, written as the runner writes them. */
    async call(
      journey_id: string,
      node: Partial<CallWebhookNode> & { url: string },
      rest: { player_id?: string; context?: Record<string, unknown>; changed?: Partial<NewDelivery> } = {},
    ): Promise<{ run_id: string; event_id: string; row: NewDelivery }> {
      const { player_id = (await client.players(1))[0] ?? '', context = { trigger_payload: { amount: 5 } } } =
        rest;
      const run_id = randomUUID();
      const now = new Date();
      const keys = await loadCredentialsKeys(readConfig({ DATA_DIR: service.data_dir }));
      const [whole = NODE] = sealHeaders(keys, tenant, { nodes: [{ ...NODE, ...node }] }).nodes;
      const event_id = uuidv5(whole.id, run_id);
      const row: NewDelivery = {
        tenant_id,
        project_id,
        journey_id,
        journey_version: 1,
        run_id,
        seq: 3,
        player_id,
        context,
        now,
        event_id,
        node: whole,
        ...rest.changed,
      };
      await sql.begin(async (tx) => {
        await tx`
          insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
            entered_at, due_at, trigger_key, re_entry, trigger, context, started_at)
          values (${tenant_id}, ${project_id}, ${run_id}, ${journey_id}, 1, ${player_id}, 'running', ${whole.id}, 3, ${now},
            ${new Date(now.getTime() + 86_400_000)}, ${run_id}, 'always', '{"kind": "api"}',
            ${JSON.stringify(context)}::text::jsonb, ${now})`;
        await insertDeliveries(tx, [row]);
      });
      return { run_id, event_id, row };
    },
    async deliveries(journey_id: string, query = ''): Promise<ShownDelivery[]> {
      return (await client.api<ShownDelivery[]>('GET', `/v1/journeys/${journey_id}/deliveries${query}`)).data;
    },
    /** The delivery once it has this status. */
    async reached(journey_id: string, event_id: string, status: string): Promise<ShownDelivery> {
      let found: ShownDelivery | undefined;
      await until(async (saw) => {
        found = saw(await on.deliveries(journey_id)).find((one) => one.event_id === event_id);
        return found?.status === status;
      });
      if (found === undefined) throw new Error('unreachable');
      return found;
    },
    async run(run_id: string): Promise<StoredRun> {
      const [row] = await sql<StoredRun[]>`
        select status, seq, woken_by, due_at, context from journey_runs where run_id = ${run_id}`;
      if (row === undefined) throw new Error('no such run');
      return row;
    },
    /** The timers of a run that are due. */
    dueTimers: (run_id: string) => sql<{ seq: number; due_at: Date }[]>`
      select seq, due_at from journey_timers where run_id = ${run_id} and due_at <= now()`,
    /** Times that make the next attempt due now, as if the pause were over. */
    hurry: (event_id: string) => sql`
      with due as (
        update webhook_deliveries set next_at = now() - interval '1 second' where event_id = ${event_id} returning 1)
      select pg_notify(${DELIVERIES_CHANNEL}, '') from due`,
  };
  return on;
}
export type WebhookFixture = ReturnType<typeof webhookFixture>;
