import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../dependents.ts';

/** Copies of the person's data that were made. */
export const exportEraser: Eraser = {
  step: 'exports',
  async erase(tx, { tenant_id, project_id, player_ids }) {
    const { count } = await tx`
      with gone as (
        delete from player_exports
        where player_id = any(${plainArray(player_ids)}::text::uuid[]) and tenant_id = ${tenant_id}
          and project_id = ${project_id}
        returning tenant_id, export_id
      ), chunks as (
        delete from player_export_chunks c using gone g
        where c.tenant_id = g.tenant_id and c.export_id = g.export_id
      )
      select from gone`;
    return count;
  },
};
