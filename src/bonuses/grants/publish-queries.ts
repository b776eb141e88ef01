import type { PendingQuery } from 'postgres';
import type { Backlog } from '../../platform/backlog-gauge.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { GrantRef, GrantRow } from './grant-row.ts';

/** An event of a grant that is to be on the log. */
export interface ToPublish
  extends
    GrantRef,
    Pick<
      GrantRow,
      | 'player_id'
      | 'template_id'
      | 'campaign_id'
      | 'adapter_slug'
      | 'currency'
      | 'bonus_amount'
      | 'bonus_amount_base'
      | 'wagering_required'
      | 'wagering_progress'
      | 'released_amount'
      | 'released_amount_base'
    > {
  seq: number;
  log_event: string;
  ingestion_id: string;
  to_status: string;
  occurred_at: Date;
  received_at: Date;
  bonus_type: string;
}

/** Events that are not on the log yet, the oldest first, with what their grants are now. */
export function selectToPublish(sql: Tx, limit: number): PendingQuery<ToPublish[]> {
  return sql<ToPublish[]>`
    select e.tenant_id, e.project_id, e.grant_id, e.seq, e.log_event, e.ingestion_id, e.to_status, e.occurred_at,
      e.received_at, g.player_id, g.template_id, g.campaign_id, g.adapter_slug, g.currency, g.bonus_amount,
      g.bonus_amount_base, g.wagering_required, g.wagering_progress, g.released_amount, g.released_amount_base,
      g.terms ->> 'type' as bonus_type
    from (
      select * from bonus_grant_events where is_to_publish order by received_at, grant_id, seq limit ${limit}) e
    cross join lateral (
      select * from bonus_grants g
      where g.grant_id = e.grant_id and g.tenant_id = e.tenant_id and g.project_id = e.project_id offset 0) g
    order by e.received_at, e.grant_id, e.seq`;
}

/** Notes that these events are on the log. */
export async function markPublished(sql: Tx, events: readonly ToPublish[]): Promise<void> {
  await sql`
    update bonus_grant_events e set is_to_publish = false
    from ${rowsOf(sql, 'u', events, { ...PROJECT_KEY, grant_id: 'uuid', seq: 'integer' })}
    cross join lateral (
      select o.ctid from bonus_grant_events o
      where o.grant_id = u.grant_id and o.seq = u.seq and o.tenant_id = u.tenant_id and o.project_id = u.project_id
      offset 0) found
    where e.ctid = found.ctid`;
}

/** Events of grants that are not on the log yet. */
export async function readEventsToPublish(tx: Tx, most: number): Promise<Backlog> {
  const [row] = await tx<Backlog[]>`
    select count(*)::integer as items, epoch_ms(min(received_at))::float8 as oldest_ms from (
      select received_at from bonus_grant_events where is_to_publish limit ${most}) d`;
  return row ?? { items: 0, oldest_ms: null };
}
