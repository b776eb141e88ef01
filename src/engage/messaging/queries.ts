import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { sendColumns } from './send-row-queries.ts';
import type { SendRow } from './send-row.ts';

/** The last messages of a player, skipped ones too, the newest first. */
export function selectPlayerMessages(
  tx: Tx,
  ref: { tenant_id: string; project_id: string; player_id: string },
  limit: number,
): PendingQuery<SendRow[]> {
  return tx<SendRow[]>`
    select ${sendColumns(tx)}
    from message_sends
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}
    order by enqueued_at desc, send_id desc
    limit ${limit}`;
}
