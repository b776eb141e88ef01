import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../errors.ts';
import { auditOf, type AuditChange } from '../../http/audit.ts';
import { notFound, requireRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import { newId } from '../../platform/ids.ts';
import type { Jobs } from '../../platform/jobs/port.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { checkWritten, requireReferences, withWarnings, type CheckDeps } from './check.ts';
import { journeyInvalid } from './graph/issues.ts';
import { journeyResourceOf, type ShownJourney } from './graph/journey-json.ts';
import {
  insertJourney,
  lockJourney,
  pauseRow,
  saveJourney,
  selectJourney,
  setLive,
  softDeleteJourney,
  type JourneyRef,
  type JourneyRow,
  type StoredContent,
} from './graph/queries.ts';
import { JOURNEY } from './graph/read.ts';
import { watchedOf } from './graph/references.ts';
import type { CreateJourneyBody, JourneyStatus, PatchJourneyBody } from './graph/schema.ts';
import type { Definition } from './graph/shapes.ts';
import { insertVersion, selectVersion } from './graph/version-queries.ts';
import { haveOtherHeaders, keepHeaders, sealHeaders } from './graph/webhook-headers.ts';
import { cancelJob, resumeJob } from './runs-job.ts';
import { notifyAudiences } from './runs/audience-queries.ts';

export interface ChangeDeps extends CheckDeps {
  postgres: Postgres;
  jobs: Jobs;
  clock: Clock;
  audit: AuditChange;
  /** They seal the values of webhooks' headers before these are stored. */
  credentials_keys: EncryptionKeys;
}

/** Creates a draft (spec part 4). Rejects with JOURNEY_GRAPH_INVALID. */
export async function createJourney(
  deps: ChangeDeps,
  project: ProjectRef,
  body: CreateJourneyBody,
): Promise<ShownJourney> {
  const content = { ...body, graph: kept(body.graph, {}) };
  checkWritten(deps, content);
  const ref = { ...project, journey_id: newId() };
  const now = new Date(deps.clock.now_ms());
  return deps.postgres.asTenant(project.tenant_id, async (tx) => {
    await insertJourney(tx, ref, sealed(deps, ref, content), now);
    return finish(deps, tx, ref, null);
  });
}

/**
 * Changes a journey; a masked header keeps the value that was saved last, unless its node calls another host now. A draft
 * or paused one is saved; an active one is published as its next version in the same transaction, unless `is_draft`: then the parts that the caller omits are those of the live version, and take the
 * place of a draft that was saved before, so that nothing goes live that this call does not name. A name alone is saved in
 * any status. Rejects with JOURNEY_NOT_FOUND or JOURNEY_GRAPH_INVALID.
 */
export async function changeJourney(
  deps: ChangeDeps,
  ref: JourneyRef,
  patch: PatchJourneyBody,
  { is_draft, user_id }: { is_draft: boolean; user_id: string },
): Promise<ShownJourney> {
  const now = new Date(deps.clock.now_ms());
  const { name, trigger, graph, settings } = patch;
  return deps.postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(JOURNEY, ref, await lockJourney(tx, ref));
    const defines = (trigger ?? graph ?? settings) !== undefined;
    const publishes = defines && row.status === 'active' && !is_draft;
    const base = publishes ? await liveContent(tx, ref, row) : row;
    const written = {
      trigger: trigger ?? base.trigger,
      graph: graph === undefined ? base.graph : kept(graph, row.graph),
      settings: settings ?? base.settings,
    };
    const definition = defines ? checkWritten(deps, written) : undefined;
    const content = defines ? sealed(deps, ref, written) : written;
    await saveJourney(tx, ref, { name: name ?? row.name, ...content }, now);
    if (definition !== undefined && publishes) {
      await publish(deps, tx, ref, { row, content, definition, status: 'active', user_id, now });
    }
    return finish(deps, tx, ref, row);
  });
}

/**
 * Activates a draft or paused journey. What was saved last becomes a version, unless it is the live one already. Runs
 * that were held go on; `resume` says what happens to those that came due meanwhile. Rejects with JOURNEY_NOT_FOUND,
 * JOURNEY_INVALID_STATUS or JOURNEY_GRAPH_INVALID.
 */
export async function activateJourney(
  deps: ChangeDeps,
  ref: JourneyRef,
  { resume, user_id }: { resume: 'run' | 'skip'; user_id: string },
): Promise<ShownJourney> {
  const now = new Date(deps.clock.now_ms());
  return deps.postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(JOURNEY, ref, await lockJourney(tx, ref));
    if (row.status === 'active') throw wrongStatus(row, 'activated while it is draft or paused');
    const definition = checkWritten(deps, row);
    if (row.is_live && row.version !== null) {
      await requireReferences(deps, tx, ref, definition);
      const live = { version: row.version, trigger_event: triggerEventOf(definition), activated_at: now };
      await setLive(tx, ref, { ...live, status: 'active' }, now);
    } else {
      const content = sealed(deps, ref, row);
      await saveJourney(tx, ref, { ...content, name: row.name }, now);
      await publish(deps, tx, ref, { row, content, definition, status: 'active', user_id, now });
    }
    if (row.is_held) await deps.jobs.add(tx, resumeJob(ref, resume, now));
    await notifyAudiences(tx);
    return finish(deps, tx, ref, row);
  });
}

/**
 * Pauses an active journey: nothing starts runs any more. With `hold` its runs stand still, too. Rejects with
 * JOURNEY_NOT_FOUND or JOURNEY_INVALID_STATUS.
 */
export async function pauseJourney(
  deps: ChangeDeps,
  ref: JourneyRef,
  { hold }: { hold: boolean },
): Promise<ShownJourney> {
  const now = new Date(deps.clock.now_ms());
  return deps.postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(JOURNEY, ref, await lockJourney(tx, ref));
    if (row.status !== 'active') throw wrongStatus(row, 'paused while it is active');
    await pauseRow(tx, ref, hold, now);
    return finish(deps, tx, ref, row);
  });
}

/**
 * Publishes a version again, or what was saved last under the number that it would get: either becomes the next version
 * and what is saved. A journey that was never activated has no versions. Rejects with JOURNEY_NOT_FOUND,
 * JOURNEY_VERSION_NOT_FOUND or JOURNEY_GRAPH_INVALID.
 */
export async function publishVersion(
  deps: ChangeDeps,
  ref: JourneyRef,
  version: string,
  { user_id }: { user_id: string },
): Promise<ShownJourney> {
  const now = new Date(deps.clock.now_ms());
  return deps.postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(JOURNEY, ref, await lockJourney(tx, ref));
    const content = sealed(deps, ref, await contentOf(tx, ref, row, version));
    const definition = checkWritten(deps, content);
    await saveJourney(tx, ref, { ...content, name: row.name }, now);
    await publish(deps, tx, ref, { row, content, definition, status: row.status, user_id, now });
    return finish(deps, tx, ref, row);
  });
}

/** Soft delete; a job cancels the runs. Idempotent. Rejects with JOURNEY_NOT_FOUND. */
export async function deleteJourney(deps: ChangeDeps, ref: JourneyRef): Promise<ShownJourney> {
  const now = new Date(deps.clock.now_ms());
  return deps.postgres.asTenant(ref.tenant_id, async (tx) => {
    const live = await lockJourney(tx, ref);
    if (live === undefined) return withWarnings(deps, tx, ref, await reread(tx, ref));
    await softDeleteJourney(tx, ref, now);
    await deps.jobs.add(tx, cancelJob(ref));
    return finish(deps, tx, ref, live);
  });
}

/** A graph as its author wrote it, with what is stored of masked headers. Throws JOURNEY_GRAPH_INVALID. */
function kept(written: StoredContent['graph'], stored: StoredContent['graph']): StoredContent['graph'] {
  const { graph, faults } = keepHeaders(written, stored);
  if (faults.length === 0) return graph;
  throw journeyInvalid(
    faults.map(({ path, message }) => ({ code: 'FIELD_INVALID', path: `graph.${path}`, message })),
  );
}

/** The content as it is stored: values that were stored before stay as they are. */
function sealed<C extends StoredContent>(
  { credentials_keys }: Pick<ChangeDeps, 'credentials_keys'>,
  project: ProjectRef,
  content: C,
): C {
  return { ...content, graph: sealHeaders(credentials_keys, project, content.graph) };
}

interface Publication {
  row: JourneyRow;
  content: StoredContent;
  definition: Definition;
  status: JourneyStatus;
  user_id: string;
  now: Date;
}

/** Makes the next version of a locked journey the live one. Rejects with JOURNEY_GRAPH_INVALID. */
async function publish(
  deps: ChangeDeps,
  tx: Tx,
  ref: JourneyRef,
  { row, content, definition, status, user_id, now }: Publication,
): Promise<void> {
  await requireReferences(deps, tx, ref, definition);
  const version = (row.version ?? 0) + 1;
  const [before] = row.version === null ? [] : await selectVersion(tx, ref, row.version);
  const { trigger, graph, settings } = content;
  const made = { version, trigger, graph, settings, published_at: now, published_by: user_id };
  await insertVersion(tx, ref, made, watchedOf(definition));
  // While the trigger stays the same, events that were on their way count for the new version.
  const stays = row.status === 'active' && isDeepStrictEqual(before?.trigger, trigger);
  const activated_at = (stays ? row.activated_at : undefined) ?? now;
  await setLive(tx, ref, { status, version, trigger_event: triggerEventOf(definition), activated_at }, now);
}

function triggerEventOf({ trigger }: Definition): string | null {
  return trigger.kind === 'event' ? trigger.event : null;
}

/** The content of a version, or what was saved last if the number is the next one. */
async function contentOf(tx: Tx, ref: JourneyRef, row: JourneyRow, version: string): Promise<StoredContent> {
  const number = versionOf(version);
  if (row.version !== null && number === row.version + 1 && !row.is_live) return row;
  const [found] = await selectVersion(tx, ref, number);
  if (found === undefined) throw versionNotFound(version);
  return found;
}

/** What the live version of a locked journey has. */
async function liveContent(tx: Tx, ref: JourneyRef, row: JourneyRow): Promise<StoredContent> {
  if (row.is_live || row.version === null) return row;
  const [live] = await selectVersion(tx, ref, row.version);
  return live ?? row;
}

/** The number of a version in a path. Throws JOURNEY_VERSION_NOT_FOUND when the text is not a number of a version. */
export function versionOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw versionNotFound(text);
  return Number(text);
}

export function versionNotFound(version: string | number): ApiError {
  return notFound({ ...JOURNEY, noun: 'version', not_found: 'JOURNEY_VERSION_NOT_FOUND' }, String(version));
}

function wrongStatus({ status }: JourneyRow, what: string): ApiError {
  return new ApiError('JOURNEY_INVALID_STATUS', `the journey is ${status}: it can be ${what}`);
}

/** A journey in the audit log: without the values of headers, but with the fact that they changed. */
type AuditedJourney = JourneyRow & { credentials_changed?: boolean };

const auditJourney = auditOf(JOURNEY, ({ credentials_changed, ...row }: AuditedJourney, ref: ProjectRef) => ({
  ...journeyResourceOf(row, ref),
  ...(credentials_changed === true ? { credentials_changed } : {}),
}));

/** The journey as it is now, with its change written to the audit log, and its warnings. */
async function finish(
  deps: ChangeDeps,
  tx: Tx,
  ref: JourneyRef,
  before: JourneyRow | null,
): Promise<ShownJourney> {
  const after = await reread(tx, ref);
  const credentials_changed = before !== null && haveOtherHeaders(before.graph, after.graph);
  await auditJourney(deps.audit, tx, ref, before, { ...after, credentials_changed });
  return withWarnings(deps, tx, ref, after);
}

async function reread(tx: Tx, ref: JourneyRef): Promise<JourneyRow> {
  const [row] = await selectJourney(tx, ref);
  return requireRow(JOURNEY, ref, row);
}
