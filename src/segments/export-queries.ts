import { NIL_ID } from '../platform/ids.ts';
import { plainArray } from '../platform/postgres/arrays.ts';
import type { FileLine, PlayerFile } from '../players/dependents.ts';

/** The segments that a person is in. */
export const segmentsFile: PlayerFile = {
  name: 'segments',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select m.segment_id::text as position, json_build_object('id', m.segment_id, 'name', s.name,
        'description', s.description, 'entered_at', m.entered_at)::text as line
      from (
        select * from segment_members m
        where m.player_id = any(${plainArray(player_ids)}::text::uuid[]) and m.tenant_id = ${tenant_id}
          and m.project_id = ${project_id} and m.segment_id > ${after ?? NIL_ID}::uuid
        order by m.segment_id limit ${limit}) m
      cross join lateral (
        select s.name, s.description from segments s
        where s.tenant_id = m.tenant_id and s.project_id = m.project_id and s.segment_id = m.segment_id offset 0) s
      order by m.segment_id`;
  },
};
