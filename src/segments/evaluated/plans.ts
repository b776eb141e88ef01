import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Group } from '../language/conditions.ts';
import { readDefinition } from '../language/definition.ts';
import {
  selectPlanned,
  selectRealtimeProjects,
  type RealtimeProject,
  type RealtimeSegment,
} from './evaluated-queries.ts';
import { NO_STAMP, planOf, type Plan } from './plan.ts';

/** Plans by their stamp, which no other segments of the project have had or will have. */
const plans = new BoundedCache<string, Plan>({ max: 200 });

/** The plan of a project as it is now; undefined: it has no realtime segments. */
export async function planFor(sql: Tx, { tenant_id, project_id }: ProjectRef): Promise<Plan | undefined> {
  const [found] = await selectRealtimeProjects(sql, [project_id]);
  return found?.tenant_id === tenant_id ? planWith(sql, found) : undefined;
}

/**
 * The plan of a project that was read with its stamp. Segments that change meanwhile give it another stamp: it never has one
 * under which other processes have other totals.
 */
export async function planWith(sql: Tx, project: RealtimeProject): Promise<Plan> {
  const known = plans.get(project.stamp);
  if (known !== undefined) return known;
  const { segments, late } = await selectPlanned(sql, project);
  const plan = planOf(
    project.stamp,
    segments.map((segment) => ({ ...segment, parsed: parsed(segment) })),
    late,
  );
  const [now] = await selectRealtimeProjects(sql, [project.project_id]);
  if (now?.stamp === project.stamp) plans.set(plan.stamp, plan);
  return now?.stamp === project.stamp ? plan : { ...plan, stamp: NO_STAMP };
}

/** Undefined: another version has stored the definition. */
function parsed({ definition }: RealtimeSegment): Group | undefined {
  try {
    return readDefinition(definition);
  } catch {
    return undefined;
  }
}
