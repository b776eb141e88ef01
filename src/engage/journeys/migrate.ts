import { validationError, type Issue } from '../../errors.ts';
import { requireRow } from '../../http/record.ts';
import { lockJourney, type JourneyRef } from './graph/queries.ts';
import { readJourney } from './graph/read-journey.ts';
import { JOURNEY } from './graph/read.ts';
import type { MigrateBody, MigrateResult } from './graph/schema.ts';
import type { Definition, Node } from './graph/shapes.ts';
import { isVersionKept, selectVersion } from './graph/version-queries.ts';
import { versionNotFound, type ChangeDeps } from './change.ts';
import { endRuns } from './runs/cancel.ts';
import {
  countStanding,
  moveRuns,
  selectStanding,
  type Move,
  type RunPosition,
  type StandingRun,
} from './runs/move-queries.ts';
import { spread } from './spread.ts';

type Deps = Pick<ChangeDeps, 'postgres' | 'clock' | 'audit'>;

/** What happens to the runs on each node of the old version: the node they go to; absent: none. */
type Targets = ReadonlyMap<string, Node>;

/**
 * Moves the running runs of one version to another, 1,000 per transaction. Each keeps its node, or goes to the one that
 * `node_map` names; a node can be exchanged for one of its own type, and a `wait_for_event` for one of the same event.
 * Others stay or leave the journey, as `unmapped` says. A run keeps the time at which it goes on; with
 * `recompute_waits` a `wait` or `wait_for_event` counts its new duration from when it was entered. Interrupted, it can
 * be called again. Rejects with JOURNEY_NOT_FOUND, JOURNEY_VERSION_NOT_FOUND or VALIDATION_ERROR.
 */
export async function migrateRuns(deps: Deps, ref: JourneyRef, body: MigrateBody): Promise<MigrateResult> {
  if (body.from_version === body.to_version) {
    throw validationError([
      { path: 'to_version', message: `must be another version than ${body.from_version}` },
    ]);
  }
  const { from, to } = await readVersions(deps, ref, body);
  const targets = targetsOf(from, to, body.node_map);
  const result: MigrateResult = { moved: 0, stayed: 0, exited: 0, by_node: {} };
  if (body.dry_run) {
    const counts = await deps.postgres.countAsTenant(ref.tenant_id, (tx) =>
      countStanding(tx, ref, body.from_version),
    );
    for (const { node_id, runs } of counts) {
      result.by_node[node_id] = runs;
      if (targets.has(node_id)) result.moved += runs;
      else result[body.unmapped === 'exit' ? 'exited' : 'stayed'] += runs;
    }
    return result;
  }
  await moveAll(deps, ref, body, { to, targets, result });
  await deps.postgres.asTenant(ref.tenant_id, (tx) =>
    deps.audit(tx, {
      tenant_id: ref.tenant_id,
      project_id: ref.project_id,
      resource_id: ref.journey_id,
      before: null,
      after: { from_version: body.from_version, to_version: body.to_version, ...result },
    }),
  );
  return result;
}

async function readVersions(
  { postgres }: Deps,
  ref: JourneyRef,
  { from_version, to_version }: MigrateBody,
): Promise<{ from: Definition; to: Definition }> {
  const rows = await postgres.asTenant(ref.tenant_id, async (tx) => {
    requireRow(JOURNEY, ref, await lockJourney(tx, ref));
    return Promise.all([selectVersion(tx, ref, from_version), selectVersion(tx, ref, to_version)]);
  });
  const [[from], [to]] = rows;
  if (from === undefined) throw versionNotFound(from_version);
  if (to === undefined) throw versionNotFound(to_version);
  return { from: readJourney(from), to: readJourney(to) };
}

/** Throws VALIDATION_ERROR when the map names nodes that do not exist or do not fit. */
function targetsOf(from: Definition, to: Definition, map: Readonly<Record<string, string>>): Targets {
  const targets = new Map<string, Node>();
  const issues: Issue[] = [];
  for (const [id, target_id] of Object.entries(map)) {
    const [node, target] = [from.graph.nodes.get(id), to.graph.nodes.get(target_id)];
    const path = `node_map.${id}`;
    if (node === undefined) issues.push({ path, message: `the old version has no node ${id}` });
    else if (target === undefined) issues.push({ path, message: `the new version has no node ${target_id}` });
    else if (!fits(node, target)) {
      const message = `${target_id} must be a node of the type ${node.type}, and wait for the same event`;
      issues.push({ path, message });
    } else targets.set(id, target);
  }
  if (issues.length > 0) throw validationError(issues);
  for (const [id, node] of from.graph.nodes) {
    const same = to.graph.nodes.get(id);
    if (!targets.has(id) && same !== undefined && fits(node, same)) targets.set(id, same);
  }
  return targets;
}

/** Whether a run that stands on one node may stand on the other. */
function fits(node: Node, target: Node): boolean {
  if (node.type === 'wait_for_event' && target.type === 'wait_for_event') return node.event === target.event;
  return node.type === target.type;
}

async function moveAll(
  { postgres, clock }: Deps,
  ref: JourneyRef,
  { from_version, to_version, unmapped, recompute_waits }: MigrateBody,
  { to, targets, result }: { to: Definition; targets: Targets; result: MigrateResult },
): Promise<void> {
  let after: RunPosition | undefined;
  let overdue = 0;
  do {
    const now_ms = clock.now_ms();
    const page = await postgres.asTenant(ref.tenant_id, async (tx) => {
      if (!(await isVersionKept(tx, ref, to_version))) throw versionNotFound(to_version);
      const runs = await selectStanding(tx, ref, from_version, after);
      const moves: Move[] = [];
      const others: StandingRun[] = [];
      for (const run of runs) {
        const target = targets.get(run.node_id);
        if (target === undefined) others.push(run);
        else {
          const due_ms = recompute_waits ? dueOf(target, run) : undefined;
          const is_late = due_ms !== undefined && due_ms <= now_ms;
          const late = is_late ? spread(to.settings, now_ms, overdue++) : null;
          const due_at = late ?? (due_ms === undefined ? null : new Date(Math.max(due_ms, now_ms)));
          moves.push({ run_id: run.run_id, seq: run.seq, node_id: target.id, due_at });
        }
      }
      const moved =
        moves.length === 0 ? 0 : await moveRuns(tx, ref, { from: from_version, to: to_version }, moves);
      const leaving = unmapped === 'exit' ? others.map(({ run_id }) => run_id) : [];
      const scope = { ...ref, version: from_version, run_ids: leaving };
      const ending = { cancelled_by: undefined, now: new Date(now_ms), limit: leaving.length };
      const ended = leaving.length === 0 ? 0 : await endRuns(tx, scope, ending);
      return { runs, moved, ended };
    });
    // Runs that went on while they were being moved have stayed.
    result.moved += page.moved;
    result.exited += page.ended;
    result.stayed += page.runs.length - page.moved - page.ended;
    for (const { node_id } of page.runs) result.by_node[node_id] = (result.by_node[node_id] ?? 0) + 1;
    after = page.runs.at(-1);
  } while (after !== undefined);
}

/** When the run's rest at the node ends, if the node itself says so. */
function dueOf(node: Node, { entered_at }: StandingRun): number | undefined {
  if (entered_at === null) return undefined;
  if (node.type === 'wait') return entered_at.getTime() + node.duration_ms;
  return node.type === 'wait_for_event' ? entered_at.getTime() + node.timeout_ms : undefined;
}
