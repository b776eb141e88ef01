import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../../players/dependents.ts';

/** Events that may still fire something, and those that wait for a rate. */
export const triggerEventEraser: Eraser = {
  step: 'trigger_events',
  async erase(tx, { tenant_id, project_id, player_ids }) {
    const { count } = await tx`
      delete from trigger_events
      where tenant_id = ${tenant_id} and project_id = ${project_id}
        and player_id = any(${plainArray(player_ids)}::text::uuid[])`;
    // Its line on the log names the player of an event.
    const unrated = await tx`
      delete from unrated_events
      where tenant_id = ${tenant_id} and project_id = ${project_id}
        and (value::jsonb ->> 'player_id')::uuid = any(${plainArray(player_ids)}::text::uuid[])`;
    return count + unrated.count;
  },
};
