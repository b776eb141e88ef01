import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../../players/dependents.ts';

/** Events that may still fire something. */
export const triggerEventEraser: Eraser = {
  step: 'trigger_events',
  async erase(tx, { tenant_id, project_id, player_ids }) {
    const { count } = await tx`
      delete from trigger_events
      where tenant_id = ${tenant_id} and project_id = ${project_id}
        and player_id = any(${plainArray(player_ids)}::text::uuid[])`;
    return count;
  },
};
