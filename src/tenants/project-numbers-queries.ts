import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from './project-ref.ts';

/** The projects of rows, each once, and a column for `rowsOf` of the same rows: the project of each, counted from 1. */
export interface ProjectPlaces<Project extends ProjectRef> {
  projects: Project[];
  place: readonly ['integer', (row: unknown, index: number) => number | null];
}

/** Tells the projects of rows: a small number for each of thousands of rows is read faster than the ids. */
export function placesOf<Project extends ProjectRef>(rows: readonly Project[]): ProjectPlaces<Project> {
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
  return { projects, place: ['integer', (_row, i) => places[i] ?? null] };
}

/**
 * A relation of the projects that exist, with their `place` (from 1 on), `project_no`, `tenant_id` and `project_id`, for
 * rows that name their project by its place.
 */
export function projectsInPlaces(tx: Tx, projects: readonly ProjectRef[]) {
  return tx`(
    select r.place::integer as place, p.project_no, p.tenant_id, p.project_id
    from ${rowsOf(tx, 'r', projects, { ...PROJECT_KEY, place: 'ordinality' })}
    join projects p using (tenant_id, project_id))`;
}
