import { plainArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from './project-ref.ts';

/** The projects of rows, each once, and for each row the place of its project among them, counted from 1. */
export interface Places<Project extends ProjectRef> {
  projects: Project[];
  places: number[];
}

/** Tells the projects of rows: a small number for each of thousands of rows is read faster than the ids. */
export function placesOf<Project extends ProjectRef>(rows: readonly Project[]): Places<Project> {
  const projects: Project[] = [];
  const known = new Map<string, number>();
  let [last, last_place]: [Project | undefined, number] = [undefined, 0];
  const places = rows.map((row) => {
    // The next row is mostly of the same project.
    if (last?.project_id === row.project_id && last.tenant_id === row.tenant_id) return last_place;
    const key = `${row.tenant_id} ${row.project_id}`;
    let place = known.get(key);
    if (place === undefined) {
      place = projects.push(row);
      known.set(key, place);
    }
    [last, last_place] = [row, place];
    return place;
  });
  return { projects, places };
}

/**
 * A relation of the projects that exist, with their `place` (from 1 on), `project_no`, `tenant_id` and `project_id`, for
 * rows that name their project by its place.
 */
export function projectsInPlaces(tx: Tx, projects: readonly ProjectRef[]) {
  return tx`(
    select r.place::integer as place, p.project_no, p.tenant_id, p.project_id
    from unnest(${plainArray(projects.map((p) => p.tenant_id))}::text::uuid[],
      ${plainArray(projects.map((p) => p.project_id))}::text::uuid[]) with ordinality as r (tenant_id, project_id, place)
    join projects p using (tenant_id, project_id))`;
}
