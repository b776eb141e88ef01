import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../dependents.ts';
import { removeExports } from './queries.ts';

/** Copies of the person's data that were made. */
export const exportEraser: Eraser = {
  step: 'exports',
  erase: (tx, { tenant_id, project_id, player_ids }) =>
    removeExports(
      tx,
      tx`player_id = any(${plainArray(player_ids)}::text::uuid[]) and tenant_id = ${tenant_id}
        and project_id = ${project_id}`,
    ),
};
