import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { CallWebhookNode } from '../journeys/graph/shapes.ts';
import { scopeObject, withTotals } from '../templates/scope-queries.ts';
import { LONG_ATTEMPTS } from './retry-schedule.ts';
import { EXPIRY_MS, wakeDeliverers } from './wake-queries.ts';
import { exactJson } from '../../platform/exact-json.ts';
import { wakeRuns, type RestingRun } from '../journeys/runs/wake-queries.ts';
import { wokenByDelivery, type AttemptResult } from './result-queries.ts';

/** A webhook to call for a node of a run. */
export interface NewDelivery extends ProjectRef {
  /** Follows from run and node (uuidv5), so that a node of a run calls once. */
  event_id: string;
  journey_id: string;
  journey_version: number;
  run_id: string;
  /** The number of the step. The run is woken with the outcome if it still stands there. */
  seq: number;
  player_id: string;
  node: CallWebhookNode;
  /** The run's context. */
  context: unknown;
  now: Date;
}

/**
 * Writes webhooks to call; one that is written already stays as it is. What their bodies are made of is kept as it is
 * now: the player, the context, and the data of the node. The deliverer makes the body of it once, because rendering may
 * take 25 ms, and this transaction keeps many runs locked.
 */
export async function insertDeliveries(tx: Tx, rows: readonly NewDelivery[]): Promise<void> {
  if (rows.length === 0) return;
  await Promise.all([
    tx`
      insert into webhook_deliveries (tenant_id, project_id, event_id, journey_id, journey_version, run_id, node_id, seq,
        player_id, url, host, headers, timeout_ms, max_attempts, backoff_ms, wait_for_response, save_as, source, status,
        next_at, created_at, expires_at)
      select r.tenant_id, r.project_id, r.event_id, r.journey_id, r.journey_version, r.run_id, r.node_id, r.seq,
        r.player_id, r.url, r.host, r.headers, r.timeout_ms, r.max_attempts, r.backoff_ms, r.wait_for_response, r.save_as,
        jsonb_build_object('player', p.player, 'context', r.context, 'data', r.data), 'pending', r.now, r.now, r.expires_at
      from jsonb_to_recordset(${exactJson(rows.map(recordOf))}::text::jsonb) as r (
        tenant_id uuid, project_id uuid, event_id uuid, journey_id uuid, journey_version integer, run_id uuid,
        node_id text, seq integer, player_id uuid, url text, host text, headers jsonb, timeout_ms integer,
        max_attempts integer, backoff_ms integer, wait_for_response boolean, save_as text, context jsonb, data jsonb,
        now timestamptz, expires_at timestamptz)
      left join lateral (
        select ${scopeObject(tx)} as player from players p ${withTotals(tx)}
        where p.player_id = r.player_id and p.tenant_id = r.tenant_id and p.project_id = r.project_id offset 0) p on true
      on conflict (tenant_id, event_id) do nothing`,
    wakeDeliverers(tx),
  ]);
}

function recordOf({ node, now, ...row }: NewDelivery) {
  const { id, url, headers, data, timeout_ms, retry, wait_for_response, save_as } = node;
  // Nobody waits for a run that goes on at once, so its webhook has the time of the long schedule.
  const schedule = wait_for_response
    ? { max_attempts: retry.max_attempts, backoff_ms: retry.backoff_ms }
    : { max_attempts: LONG_ATTEMPTS, backoff_ms: null };
  return {
    ...row,
    ...schedule,
    node_id: id,
    url,
    // Unusable URLs are refused when they are called.
    host: URL.canParse(url) ? new URL(url).host : '',
    headers,
    data,
    timeout_ms,
    wait_for_response,
    save_as: wait_for_response ? save_as : undefined,
    now,
    expires_at: new Date(now.getTime() + EXPIRY_MS),
  };
}

/**
 * Cancels the pending deliveries of runs; with `only_awaited` those that the runs stand waiting for, and not those of
 * steps that are done. One that is being called now reaches its receiver.
 */
export async function cancelDeliveries(
  tx: Tx,
  runs: readonly (ProjectRef & { run_id: string })[],
  { only_awaited = false }: { only_awaited?: boolean } = {},
): Promise<void> {
  if (runs.length === 0) return;
  const is_meant = only_awaited
    ? tx`and o.wait_for_response and exists (
        select from journey_runs j
        where j.run_id = o.run_id and j.tenant_id = o.tenant_id and j.project_id = o.project_id and j.seq = o.seq)`
    : tx``;
  const pending = tx`
    from ${rowsOf(tx, 'r', runs, { ...PROJECT_KEY, run_id: 'uuid' })}
    cross join lateral (
      select o.ctid from webhook_deliveries o
      where o.run_id = r.run_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id and o.status = 'pending'
        ${is_meant}
      order by o.event_id`;
  // A statement of its own locks first, so that the next one sees what other transactions have changed.
  await Promise.all([
    tx`select ${pending} for update) found`,
    tx`
      update webhook_deliveries d set status = 'cancelled', completed_at = now()
      ${pending} offset 0) found
      where d.ctid = found.ctid`,
  ]);
}

/**
 * Lets runs that came a second time to a webhook which they called before, because they were moved back, take its
 * outcome: at once if there is one, otherwise when there is. The transaction has locked the runs and moved them there.
 */
export async function rejoinDeliveries(tx: Tx, rows: readonly NewDelivery[], now: Date): Promise<void> {
  const waiting = rows.filter(({ node }) => node.wait_for_response);
  if (waiting.length === 0) return;
  // A statement of its own locks first, so that the next one sees an outcome that is being written.
  const found = await tx<{ event_id: string }[]>`
    select d.event_id from (
      select * from ${rowsOf(tx, 'r', waiting, { tenant_id: 'uuid', event_id: 'uuid', seq: 'integer' })} order by event_id) r
    cross join lateral (
      select o.event_id from webhook_deliveries o
      where o.tenant_id = r.tenant_id and o.event_id = r.event_id and o.seq < r.seq for update) d`;
  if (found.length === 0) return;
  const event_ids = new Set(found.map(({ event_id }) => event_id));
  const again = waiting.filter(({ event_id }) => event_ids.has(event_id));
  const rejoined = await tx<Rejoined[]>`
    update webhook_deliveries d set seq = r.seq, wait_for_response = true
    from ${rowsOf(tx, 'r', again, { tenant_id: 'uuid', event_id: 'uuid', seq: 'integer' })}
    where d.tenant_id = r.tenant_id and d.event_id = r.event_id
    returning d.tenant_id, d.project_id, d.run_id, d.seq, d.status, d.last_error`;
  const ended = rejoined.filter(({ status }) => status !== 'pending');
  const wakes = ended.map(({ status, last_error, ...run }) => {
    return { ...run, woken_by: wokenByDelivery({ status, last_error }), kept: null };
  });
  await wakeRuns(tx, wakes, now);
}

type Rejoined = RestingRun & Pick<AttemptResult, 'status' | 'last_error'>;
