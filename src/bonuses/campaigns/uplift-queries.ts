import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { BonusCampaignRef } from './queries.ts';

/** A member who was drawn: held out by nobody (0), the campaign (1) or the project (2). */
export interface AssignedMember {
  player_id: string;
  is_held_out: number;
  /** Milliseconds since the epoch, as digits. */
  assigned_at: string;
}

/** Members who were drawn, in the order of their ids, after `after`. */
export function selectAssigned(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  after: string,
  limit: number,
): PendingQuery<AssignedMember[]> {
  return tx<AssignedMember[]>`
    select r.player_id, case r.code when 'HOLDOUT' then 1 when 'GLOBAL_HOLDOUT' then 2 else 0 end as is_held_out,
      epoch_ms(r.assigned_at)::text as assigned_at
    from bonus_campaign_rows r
    where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
      and r.assigned_at is not null and r.player_id > ${after}
    order by r.player_id limit ${limit}`;
}
