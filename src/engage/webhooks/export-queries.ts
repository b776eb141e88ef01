import { NIL_ID } from '../../platform/ids.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { FileLine, PlayerFile } from '../../players/dependents.ts';

/** What webhooks of journeys and subscriptions sent about a person to the operator's other systems. */
export const deliveriesFile: PlayerFile = {
  name: 'webhooks',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select d.event_id::text as position, json_build_object('id', d.event_id, 'journey_id', d.journey_id,
        'subscription_id', d.subscription_id, 'event', d.event, 'host', split_part(d.host, '/', 1), 'status', d.status, 'payload', d.payload, 'created_at', d.created_at,
        'completed_at', d.completed_at)::text as line
      from webhook_deliveries d
      where d.player_id = any(${plainArray(player_ids)}::text::uuid[]) and d.tenant_id = ${tenant_id}
        and d.project_id = ${project_id} and d.event_id > ${after ?? NIL_ID}::uuid
      order by d.event_id limit ${limit}`;
  },
};
