import type { Tx } from '../platform/postgres/port.ts';
import type { MirrorPosition } from './mirror-queries.ts';
import { revisionSql } from './epoch-queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

/**
 * A send row as a JSONEachRow line of ClickHouse's `message_sends`, and of `journey_sends` where it has a `journey_id`;
 * `changed_xid` and `send_id` are its position.
 */
export interface ChangedSend extends ProjectRef {
  player_id: string;
  send_id: string;
  journey_id: string | null;
  changed_xid: string;
  line: string;
  /** Still queued or being sent: nothing to publish yet. */
  is_pending: boolean;
}

const REVISION = revisionSql('changed_xid::text::numeric');

/**
 * Sends changed after `position`, in order. Only changes of transactions older than every running one are read, so that
 * no change can become visible below a position that was passed.
 */
export async function readChangedSends(
  sql: Tx,
  position: MirrorPosition,
  limit: number,
  now_ms: number,
): Promise<ChangedSend[]> {
  return sql<ChangedSend[]>`
    select changed_xid::text, tenant_id, project_id, player_id, send_id, journey_id,
      status in ('queued', 'sending') as is_pending,
      json_build_object(
        'tenant_id', tenant_id, 'project_id', project_id, 'player_id', player_id, 'send_id', send_id,
        'campaign_id', campaign_id, 'journey_id', journey_id, 'run_id', journey_run_id,
        'node_id', case when journey_id is not null then dedup_key end,
        'variant_id', variant_id, 'channel', channel, 'status', status,
        'error_code', error_code, 'enqueued_at', epoch_ms(enqueued_at), 'assigned_at', epoch_ms(assigned_at),
        'is_own_hour', is_own_hour::integer, 'sent_at', epoch_ms(sent_at),
        'delivered_at', epoch_ms(delivered_at), 'opened_at', epoch_ms(opened_at), 'clicked_at', epoch_ms(clicked_at),
        'bounced_at', epoch_ms(bounced_at),
        'mirrored_at', ${now_ms}::text::bigint, 'revision', ${sql.unsafe(REVISION)})::text as line
    from message_sends
    where (changed_xid, send_id) > (${position.changed_xid}::text::xid8, ${position.row_id}::uuid)
      and changed_xid < pg_snapshot_xmin(pg_current_snapshot())
    order by changed_xid, send_id
    limit ${limit}`;
}
