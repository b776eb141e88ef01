import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../dependents.ts';

/** Why tiers were changed, in the words of operators. Which tiers the player had stays. */
export const tierEraser: Eraser = {
  step: 'tiers',
  async erase(tx, { tenant_id, project_id, player_ids }, limit) {
    const { count } = await tx`
      update player_tier_history h set context = '{}'
      from (
        select player_id, entry_id from player_tier_history
        where player_id = any(${plainArray(player_ids)}::text::uuid[]) and tenant_id = ${tenant_id}
          and project_id = ${project_id} and context <> '{}'
        limit ${limit}) f
      where h.player_id = f.player_id and h.entry_id = f.entry_id and h.tenant_id = ${tenant_id}
        and h.project_id = ${project_id}`;
    return count;
  },
};
