import { NIL_ID } from '../../../platform/ids.ts';
import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { FileLine, PlayerFile } from '../../../players/dependents.ts';

/** The ways of a person through journeys, with their steps. */
export const runsFile: PlayerFile = {
  name: 'runs',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select r.run_id::text as position, json_build_object('id', r.run_id, 'journey_id', r.journey_id,
        'journey_name', (select j.name from journeys j where j.tenant_id = r.tenant_id and j.project_id = r.project_id
          and j.journey_id = r.journey_id),
        'version', r.version, 'status', r.status, 'started_at', r.started_at, 'completed_at', r.completed_at,
        'outcome', r.outcome, 'trigger', r.trigger, 'context', r.context,
        'steps', (select coalesce(json_agg(json_build_object('node_id', t.node_id, 'node_type', t.node_type,
            'status', t.status, 'outcome', t.outcome, 'entered_at', t.entered_at, 'completed_at', t.completed_at)
            order by t.seq), '[]')
          from journey_steps t where t.run_id = r.run_id and t.tenant_id = r.tenant_id
            and t.project_id = r.project_id))::text as line
      from journey_runs r
      where r.player_id = any(${plainArray(player_ids)}::text::uuid[]) and r.tenant_id = ${tenant_id}
        and r.project_id = ${project_id} and r.run_id > ${after ?? NIL_ID}::uuid
      order by r.run_id limit ${limit}`;
  },
};
