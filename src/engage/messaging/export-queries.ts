import { NIL_ID } from '../../platform/ids.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { FileLine, PlayerFile } from '../../players/dependents.ts';

/** The messages to a person. */
export const messagesFile: PlayerFile = {
  name: 'messages',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select s.send_id::text as position, json_build_object('id', s.send_id, 'campaign_id', s.campaign_id,
        'journey_id', s.journey_id, 'template_id', s.template_id, 'channel', s.channel, 'recipient', s.recipient,
        'status', s.status, 'error_code', s.error_code, 'context', s.context, 'enqueued_at', s.enqueued_at,
        'sent_at', s.sent_at, 'delivered_at', s.delivered_at, 'opened_at', s.opened_at, 'clicked_at', s.clicked_at,
        'bounced_at', s.bounced_at, 'provider_message', s.provider_message)::text as line
      from message_sends s
      where s.player_id = any(${plainArray(player_ids)}::text::uuid[]) and s.tenant_id = ${tenant_id}
        and s.project_id = ${project_id} and s.send_id > ${after ?? NIL_ID}::uuid
      order by s.send_id limit ${limit}`;
  },
};
