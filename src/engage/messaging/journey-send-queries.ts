import type { PendingQuery } from 'postgres';
import { v5 } from 'uuid';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import { notifyMessengers } from './wake-queries.ts';

/** The UUID v5 namespace in which a journey and a provider give the id of their queue. */
const NAMESPACE = '3b6ac1e0-5f0e-4f5e-9a6e-6f1f6f6f2c11';

/** A message of a run's `send_message` node. */
export interface JourneySend {
  tenant_id: string;
  project_id: string;
  journey_id: string;
  journey_run_id: string;
  /** A node of a run sends once. */
  node_id: string;
  player_id: string;
  template_id: string;
  provider_id: string;
  /** Whether the message waits for the end of quiet hours instead of being skipped. */
  quiet_hours: 'skip' | 'defer';
  /** Liquid reads it as `journey.context`. */
  context: unknown;
}

/**
 * Queues the messages of runs for their providers; the messenger's gate decides about each. Idempotent: a run and a node
 * that have a message get no second one. The channel is that of the provider. Messages to providers that do not exist
 * are omitted: callers look before. Returns the ids of the messages, by run and node.
 */
export async function insertJourneySends(
  tx: Tx,
  sends: readonly JourneySend[],
  now: Date,
): Promise<{ journey_run_id: string; node_id: string; send_id: string }[]> {
  if (sends.length === 0) return [];
  // Thousands of messages are of few queues.
  const queues = new Map<string, JourneySend & { queue_id: string }>();
  for (const send of sends) {
    const key = queueKey(send);
    if (!queues.has(key)) {
      const queue_id = v5(`${send.journey_id} ${send.provider_id}`, NAMESPACE);
      queues.set(key, { ...send, queue_id });
    }
  }
  const made = [...queues.values()];
  const queueRows = tx`(
    select u.*, p.channel from ${rowsOf(tx, 'u', made, {
      queue_id: 'uuid',
      tenant_id: 'uuid',
      project_id: 'uuid',
      journey_id: 'uuid',
      provider_id: 'uuid',
    })}
    cross join lateral (
      select channel from messaging_providers p
      where p.tenant_id = u.tenant_id and p.provider_id = u.provider_id offset 0) p)`;
  const [, inserted] = await Promise.all([
    tx`
      insert into journey_queues (tenant_id, project_id, queue_id, journey_id, provider_id, channel)
      select q.tenant_id, q.project_id, q.queue_id, q.journey_id, q.provider_id, q.channel from ${queueRows} q
      order by q.queue_id
      on conflict (tenant_id, project_id, queue_id) do nothing`,
    tx<{ journey_run_id: string; node_id: string; send_id: string }[]>`
      -- Materialized: otherwise the provider is looked up for each message.
      with q as materialized (select * from ${queueRows} q)
      insert into message_sends (tenant_id, project_id, send_id, journey_id, journey_run_id, dedup_key, queue_id, player_id,
        channel, template_id, provider_id, status, defers_quiet_hours, context, enqueued_at)
      select q.tenant_id, q.project_id, new_id(), q.journey_id, g.journey_run_id, g.node_id, q.queue_id, g.player_id,
        q.channel, g.template_id, q.provider_id, 'queued', g.defers, g.context::jsonb, ${now}
      from ${rowsOf(tx, 'g', sends, {
        queue_id: ['uuid', (s) => queues.get(queueKey(s))?.queue_id ?? null],
        journey_run_id: 'uuid',
        node_id: 'text',
        player_id: 'uuid',
        template_id: 'uuid',
        defers: ['boolean', (s) => s.quiet_hours === 'defer'],
        context: ['text', (s) => JSON.stringify(s.context ?? {})],
      })}
      join q on q.queue_id = g.queue_id
      on conflict (journey_run_id, dedup_key, tenant_id, project_id) where journey_run_id is not null do nothing
      returning journey_run_id, dedup_key as node_id, send_id`,
  ]);
  for (const { queue_id } of made) await notifyMessengers(tx, queue_id);
  return inserted;
}

function queueKey({ journey_id, provider_id }: Pick<JourneySend, 'journey_id' | 'provider_id'>): string {
  return `${journey_id} ${provider_id}`;
}

/** Skips the queued messages of cancelled runs. */
export async function cancelJourneySends(
  tx: Tx,
  runs: readonly (Pick<JourneySend, 'tenant_id' | 'project_id'> & { run_id: string })[],
): Promise<void> {
  if (runs.length === 0) return;
  const queued = tx`
    from ${rowsOf(tx, 'r', runs, { ...PROJECT_KEY, run_id: 'uuid' })}
    cross join lateral (
      select s.ctid, s.send_id from message_sends s
      where s.journey_run_id = r.run_id and s.tenant_id = r.tenant_id and s.project_id = r.project_id
        and s.status = 'queued'
      order by s.send_id`;
  // A statement of its own locks first, so that the next one sees what other transactions have changed.
  await Promise.all([
    tx`select ${queued} for update) s`,
    tx`
      update message_sends m
      set status = 'failed', error_code = 'SKIPPED_CANCELLED', retry_at = null, changed_xid = pg_current_xact_id()
      ${queued} offset 0) s
      where m.ctid = s.ctid`,
  ]);
}

/** What became of the message of a run's node. */
export interface JourneySendState {
  node_id: string;
  send_id: string;
  status: string;
  error_code: string | null;
}

/** The messages of a run. */
export function selectRunSends(
  tx: Tx,
  { tenant_id, project_id, run_id }: { tenant_id: string; project_id: string; run_id: string },
): PendingQuery<JourneySendState[]> {
  return tx<JourneySendState[]>`
    select dedup_key as node_id, send_id, status, error_code from message_sends
    where tenant_id = ${tenant_id} and project_id = ${project_id} and journey_run_id = ${run_id}`;
}
