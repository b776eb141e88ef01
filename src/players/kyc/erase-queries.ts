import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../dependents.ts';

/** What was said about decisions, and what calls to platforms were to say. Which decisions there were stays. */
export const kycEraser: Eraser = {
  step: 'kyc',
  async erase(tx, { tenant_id, project_id, player_ids }, limit) {
    const ids = plainArray(player_ids);
    const { count: calls } = await tx`
      delete from kyc_calls
      where player_id = any(${ids}::text::uuid[]) and tenant_id = ${tenant_id} and project_id = ${project_id}`;
    const { count: decisions } = await tx`
      update kyc_decisions d set reason = null, requirements = null
      from (
        select decision_id from kyc_decisions
        where player_id = any(${ids}::text::uuid[]) and tenant_id = ${tenant_id} and project_id = ${project_id}
          and (reason is not null or requirements is not null)
        limit ${limit}) f
      where d.decision_id = f.decision_id and d.tenant_id = ${tenant_id} and d.project_id = ${project_id}`;
    return calls + decisions;
  },
};
