import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { hasComeDue, inQueue, queueOrder, type SendQueue } from './messenger-queries.ts';

/** A player with every id that an event of the player may carry. */
export interface PlayerIds {
  player_id: string;
  /** The player_id, those of players merged into it, and the anonymous_ids. */
  ids: string[];
}

/** A message that is due, and the ids of its player. */
export type DueMessage = PlayerIds & { send_id: string };

/** Every id of the player of each row of `players`, which has tenant, project and player. */
function idsOf(tx: Tx, players: PendingQuery<Row[]>, { tenant_id, project_id }: ProjectRef) {
  return tx`
    select d.*, array[d.player_id::text] || coalesce(m.ids, '{}') || coalesce(p.anonymous_ids, '{}') as ids
    from (${players}) d
    left join lateral (
      select p.anonymous_ids from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = d.player_id offset 0
    ) p on true
    left join lateral (
      select array_agg(m.player_id::text) as ids from player_merges m
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.into_player_id = d.player_id
    ) m on true`;
}

/** Up to `limit` due messages of a queue after the one with the id `after`, in the order in which they are claimed. */
export async function selectDueMessages(
  sql: Tx,
  queue: SendQueue,
  now: Date,
  after: string,
  limit: number,
): Promise<DueMessage[]> {
  const { tenant_id, project_id, queue_id } = queue;
  const due = sql`
    select s.send_id, s.player_id from message_sends s
    where s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and ${inQueue(sql, queue_id)}
      and s.status = 'queued' and ${hasComeDue(sql, now)} and s.send_id > ${after}
    order by ${queueOrder(sql)} limit ${limit}`;
  return sql<DueMessage[]>`${idsOf(sql, due, queue)} order by d.send_id`;
}

/** Every id of these players as it is now; a player that does not exist has its own alone. */
export async function selectIdsOf(
  tx: Tx,
  project: ProjectRef,
  player_ids: readonly string[],
): Promise<PlayerIds[]> {
  return tx<PlayerIds[]>`${idsOf(
    tx,
    tx`select player_id from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)`,
    project,
  )}`;
}
