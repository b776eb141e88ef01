import { ApiError, validationError, type Issue } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { auditOf, type AuditChange } from '../http/audit.ts';
import { requireRow } from '../http/record.ts';
import { newId } from '../platform/ids.ts';
import { exactJson } from '../platform/exact-json.ts';
import type { Jobs, NewJob } from '../platform/jobs/port.ts';
import type { Postgres, Tx } from '../platform/postgres/port.ts';
import {
  askedSegment,
  conditionPaths,
  isGroup,
  type DefinitionNode,
  type Group,
} from './language/conditions.ts';
import { invalidDefinition, readDefinition } from './language/definition.ts';
import { dependenciesOf, readOfList, readOfSegment } from './dependencies.ts';
import { frozenDefinition, isFrozen } from './frozen.ts';
import {
  insertSegment,
  lockDefinitions,
  lockSegment,
  redefineSegment,
  renameSegment,
  selectReads,
  selectSegment,
  softDeleteSegment,
  type SegmentRef,
  type SegmentRow,
  type StoredDefinition,
} from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { SEGMENT } from './read.ts';
import { purgeJob, refreshJob } from './refresh-job.ts';
import { segmentAuditOf } from './segment-json.ts';
import type { CreateSegmentBody, PatchSegmentBody, RefreshStrategy } from './schema.ts';

interface Deps {
  postgres: Postgres;
  jobs: Jobs;
  clock: Clock;
  audit: AuditChange;
}

/**
 * Creates a segment (spec part 4). Unless its strategy is `manual`, the same transaction adds a job that computes it
 * soon. Rejects with SEGMENT_DEFINITION_INVALID or VALIDATION_ERROR.
 */
export async function createSegment(
  { postgres, jobs, clock, audit }: Deps,
  project: ProjectRef,
  { name, description, ...body }: CreateSegmentBody,
): Promise<SegmentRow> {
  const ref = { ...project, segment_id: newId() };
  const now = new Date(clock.now_ms());
  const definition = readDefinition(body.definition);
  const { refresh_interval_minutes = null } = body;
  const stored = storedDefinition(definition, { ...body, refresh_interval_minutes });
  return postgres.asTenant(project.tenant_id, async (tx) => {
    if (dependenciesOf(definition).segment_ids.length > 0) await lockDefinitions(tx, ref);
    await checkReferences(tx, ref, definition);
    await insertSegment(tx, ref, { name, description, ...stored }, now);
    if (stored.refresh_strategy !== 'manual') await jobs.add(tx, refreshJob(ref));
    return auditSegment(audit, tx, ref, null, await reread(tx, ref));
  });
}

/**
 * Creates a frozen segment, whose list `fill` will write: the job is added in the same transaction. It is not checked that
 * the list has players.
 */
export async function createFrozenSegment(
  { postgres, jobs, clock, audit }: Deps,
  project: ProjectRef,
  { name, description }: Pick<CreateSegmentBody, 'name' | 'description'>,
  fill: (ref: SegmentRef) => NewJob,
): Promise<SegmentRow> {
  const ref = { ...project, segment_id: newId() };
  const now = new Date(clock.now_ms());
  return postgres.asTenant(project.tenant_id, async (tx) => {
    await insertSegment(tx, ref, { name, description, ...frozenDefinition(ref.segment_id) }, now);
    await jobs.add(tx, fill(ref));
    return auditSegment(audit, tx, ref, null, await reread(tx, ref));
  });
}

/**
 * Checks the references of a definition that is not saved. Rejects with SEGMENT_DEFINITION_INVALID when it refers to a
 * segment that is not of the project.
 */
export async function requireReferences(
  postgres: Postgres,
  project: ProjectRef,
  definition: Group,
): Promise<void> {
  if (dependenciesOf(definition).segment_ids.length === 0) return;
  await postgres.asTenant(project.tenant_id, (tx) =>
    checkReferences(tx, { ...project, segment_id: newId() }, definition),
  );
}

/**
 * Changes a segment. A patch of the definition, the strategy or the interval also adds a refresh job, unless the
 * strategy is `manual`. Rejects with SEGMENT_NOT_FOUND, SEGMENT_DEFINITION_INVALID or VALIDATION_ERROR.
 */
export async function changeSegment(
  { postgres, jobs, clock, audit }: Deps,
  ref: SegmentRef,
  patch: PatchSegmentBody,
): Promise<SegmentRow> {
  const now = new Date(clock.now_ms());
  const redefines = ['definition', 'refresh_strategy', 'refresh_interval_minutes'].some(
    (key) => key in patch,
  );
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    if (redefines) await lockDefinitions(tx, ref);
    const row = requireRow(SEGMENT, ref, await lockSegment(tx, ref));
    const { name = row.name, description = row.description } = patch;
    await renameSegment(tx, ref, { name, description }, now);
    if (redefines && isFrozen(row)) requireUnchanged(row, patch);
    else if (redefines) {
      const definition = readDefinition(patch.definition ?? row.definition);
      const stored = storedDefinition(definition, {
        ...intervalOf(row, patch),
        definition: patch.definition ?? row.definition,
      });
      await checkReferences(tx, ref, definition);
      await redefineSegment(tx, ref, stored, now);
      if (stored.refresh_strategy !== 'manual') await jobs.add(tx, refreshJob(ref));
    }
    return auditSegment(audit, tx, ref, row, await reread(tx, ref));
  });
}

/**
 * Checks that a patch of a frozen segment leaves its definition and strategy as they are: another definition would lose
 * the list, which other definitions may ask for. Throws SEGMENT_DEFINITION_INVALID.
 */
function requireUnchanged(row: SegmentRow, patch: PatchSegmentBody): void {
  const { refresh_strategy, refresh_interval_minutes } = intervalOf(row, patch);
  const is_same =
    exactJson(readDefinition(patch.definition ?? row.definition)) ===
    exactJson(readDefinition(row.definition));
  if (is_same && refresh_strategy === row.refresh_strategy && refresh_interval_minutes === null) return;
  const message = 'is the list of a frozen segment, which stays: make another segment that asks for the list';
  throw invalidDefinition([{ path: 'definition', message }]);
}

/**
 * Soft delete: the segment has no members from now on; a job removes its stored members later. Idempotent. Rejects with
 * SEGMENT_NOT_FOUND, or with CONFLICT while another segment refers to it.
 */
export async function deleteSegment(
  { postgres, jobs, clock, audit }: Deps,
  ref: SegmentRef,
): Promise<SegmentRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    await lockDefinitions(tx, ref);
    const row = await reread(tx, ref);
    if (row.deleted_at !== null) return row;
    const reads = readOfSegment(ref.segment_id);
    const users = (await selectReads(tx, ref)).filter((other) => other.reads.includes(reads));
    if (users.length > 0) {
      const names = users.slice(0, 5).map(({ segment_id }) => segment_id);
      throw new ApiError('CONFLICT', `other segments refer to it: change ${names.join(', ')} first`);
    }
    await softDeleteSegment(tx, ref, now);
    await jobs.add(tx, purgeJob(ref));
    return auditSegment(audit, tx, ref, row, await reread(tx, ref));
  });
}

const auditSegment = auditOf(SEGMENT, segmentAuditOf);

/** The segment as it is now. */
async function reread(tx: Tx, ref: SegmentRef): Promise<SegmentRow> {
  const [row] = await selectSegment(tx, ref);
  return requireRow(SEGMENT, ref, row);
}

/**
 * Strategy and interval after the patch. When the strategy is no longer `scheduled`, the stored interval is dropped; an
 * interval in the patch is kept, so that `storedDefinition` refuses it.
 */
function intervalOf(row: SegmentRow, patch: PatchSegmentBody) {
  const { refresh_strategy = row.refresh_strategy } = patch;
  const kept = refresh_strategy === 'scheduled' ? row.refresh_interval_minutes : null;
  const { refresh_interval_minutes = kept } = patch;
  return { refresh_strategy, refresh_interval_minutes };
}

/**
 * The columns that a definition is stored as. Throws VALIDATION_ERROR unless an interval comes with `scheduled` alone.
 */
function storedDefinition(
  parsed: Group,
  written: {
    definition: unknown;
    refresh_strategy: RefreshStrategy;
    refresh_interval_minutes: number | null;
  },
): StoredDefinition {
  const { refresh_strategy, refresh_interval_minutes } = written;
  if ((refresh_strategy === 'scheduled') !== (refresh_interval_minutes !== null)) {
    const message =
      refresh_strategy === 'scheduled'
        ? 'is required with refresh_strategy scheduled'
        : 'belongs to refresh_strategy scheduled alone';
    throw validationError([{ path: 'refresh_interval_minutes', message }]);
  }
  const { reads, windows } = dependenciesOf(parsed);
  return {
    definition: written.definition,
    refresh_strategy,
    refresh_interval_minutes,
    reads,
    windows: refresh_strategy === 'realtime' ? windows : [],
  };
}

/**
 * Checks that every segment a definition refers to is of this project, and that no chain of references leads back to
 * `ref`. Nor may it exclude the members of a list that is not written yet: it would exclude nobody. Rejects with
 * SEGMENT_DEFINITION_INVALID. A caller that stores the definition holds {@link lockDefinitions}.
 */
async function checkReferences(tx: Tx, ref: SegmentRef, definition: Group): Promise<void> {
  const { segment_ids } = dependenciesOf(definition);
  if (segment_ids.length === 0) return;
  const others = await selectReads(tx, ref);
  const reads = new Map(others.map((one) => [one.segment_id, one.reads]));
  const unwritten = others.filter(
    (one) => !one.is_computed && one.reads.includes(readOfList(one.segment_id)),
  );
  const excluded = excludedBy(definition);
  const issues: Issue[] = [];
  for (const segment_id of segment_ids) {
    const path = pathOf(definition, segment_id);
    const of_segment = reads.get(segment_id);
    if (of_segment === undefined) issues.push({ path, message: 'must be a segment of this project' });
    else if (path.endsWith('.list_id') && !of_segment.includes(readOfList(segment_id))) {
      issues.push({ path, message: 'must be the list of a frozen segment of this project' });
    } else if (leadsTo(segment_id, ref.segment_id, reads)) {
      issues.push({ path, message: 'refers back to this segment: a circle cannot be computed' });
    } else if (
      excluded.has(segment_id) &&
      unwritten.some((one) => leadsTo(segment_id, one.segment_id, reads))
    ) {
      const message =
        'excludes the members of a list that is not written yet: wait until it has last_computed_at';
      issues.push({ path, message });
    }
  }
  if (issues.length > 0) throw invalidDefinition(issues);
}

/** The segments of which not to be a member is asked for somewhere in a definition. */
function excludedBy(node: DefinitionNode, is_negated = false): Set<string> {
  if (isGroup(node)) {
    const inside = is_negated !== (node.operator === 'NOT');
    return new Set(node.children.flatMap((child) => [...excludedBy(child, inside)]));
  }
  const asked = askedSegment(node);
  return new Set(asked !== undefined && is_negated !== asked.negated ? [asked.segment_id] : []);
}

/** Whether a chain of references leads from one segment to another; `reads`: by segment id. */
function leadsTo(from: string, to: string, reads: ReadonlyMap<string, readonly string[]>): boolean {
  const seen = new Set<string>([from]);
  for (const one of seen) {
    if (one === to) return true;
    for (const read of reads.get(one) ?? []) {
      if (read.startsWith('segment:')) seen.add(read.slice('segment:'.length));
    }
  }
  return false;
}

/**
 * The path of the first condition that refers to the segment, `definition.conditions.1.segment_id`; of one that asks for
 * its list, if there is any: `….list_id`.
 */
function pathOf(definition: Group, segment_id: string): string {
  const paths = [...conditionPaths(definition)].flatMap(([path, one]) =>
    askedSegment(one)?.segment_id === segment_id ? [`${path}.${one.type}_id`] : [],
  );
  return paths.find((path) => path.endsWith('.list_id')) ?? paths[0] ?? 'definition';
}
