import type { PendingQuery } from 'postgres';
import type { TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { listAuditRowsOf, type ListedAuditRow } from '../../tenants/audit/queries.ts';
import type { PlayerRef } from '../player-ref.ts';

/** A page of the changes of a player and of those merged into it, the newest first. */
export function listPlayerAudit(
  tx: Tx,
  ref: PlayerRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<ListedAuditRow[]> {
  const { tenant_id, project_id, player_id } = ref;
  const ids = tx`
    select ${player_id}::text as resource_id
    union
    select player_id::text from player_merges
    where tenant_id = ${tenant_id} and project_id = ${project_id} and into_player_id = ${player_id}::uuid`;
  return listAuditRowsOf(tx, ref, ids, after, limit);
}
