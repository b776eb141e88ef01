import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ErasedPerson, Eraser } from '../../../players/dependents.ts';
import { eraseAuditRowsOf } from '../../../tenants/audit/erase-queries.ts';

function isTheirs(tx: Tx, { tenant_id, project_id, player_ids }: ErasedPerson) {
  return tx`r.player_id = any(${plainArray(player_ids)}::text::uuid[]) and r.tenant_id = ${tenant_id}
    and r.project_id = ${project_id}`;
}

/** What runs carried with them: the events that began and woke them. Which way they took stays. */
export const runEraser: Eraser = {
  step: 'journey_runs',
  async erase(tx, person, limit) {
    const { count } = await tx`
      update journey_runs e
      set trigger = jsonb_build_object('kind', e.trigger -> 'kind'), context = '{"trigger_payload": {}}', woken_by = null
      from (
        select r.run_id from journey_runs r
        where ${isTheirs(tx, person)} and r.status <> 'running'
          and (r.context <> '{"trigger_payload": {}}' or r.woken_by is not null
            or r.trigger <> jsonb_build_object('kind', r.trigger -> 'kind'))
        limit ${limit}) f
      where e.run_id = f.run_id and e.tenant_id = ${person.tenant_id} and e.project_id = ${person.project_id}`;
    const ids = tx`select r.run_id::text as resource_id from journey_runs r where ${isTheirs(tx, person)}`;
    return count + (await eraseAuditRowsOf(tx, person, ids, limit));
  },
  async inUse(tx, person) {
    const [row] = await tx<{ runs: number }[]>`
      select count(*)::integer as runs from journey_runs r where ${isTheirs(tx, person)} and r.status = 'running'`;
    return row?.runs ?? 0;
  },
};
