import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../../players/dependents.ts';

/**
 * What sandbox providers keep of the messages of the person. A test message names no player, and may have been rendered with
 * the data of this one: all of the tenant are removed.
 */
export const sandboxMessageEraser: Eraser = {
  step: 'sandbox_messages',
  async erase(tx, { tenant_id, project_id, player_ids }, limit) {
    const { count } = await tx`
      delete from sandbox_messages m
      using (
        select x.provider_id, x.message_id from message_sends s
        join sandbox_messages x on x.tenant_id = ${tenant_id} and x.send_id = s.send_id
        where s.player_id = any(${plainArray(player_ids)}::text::uuid[]) and s.tenant_id = ${tenant_id}
          and s.project_id = ${project_id}
        union
        select x.provider_id, x.message_id from sandbox_messages x where x.tenant_id = ${tenant_id} and x.send_id is null
        limit ${limit}) f
      where m.tenant_id = ${tenant_id} and m.provider_id = f.provider_id and m.message_id = f.message_id`;
    return count;
  },
};
