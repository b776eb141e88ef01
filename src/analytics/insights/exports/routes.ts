import { Readable } from 'node:stream';
import { z } from 'zod';
import { ApiError, validationError } from '../../../errors.ts';
import type { AuditChange } from '../../../http/audit.ts';
import { describeNeeded, roleAllows } from '../../../http/auth/roles.ts';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../../http/endpoint.ts';
import { envelope } from '../../../http/envelope.ts';
import { nameSchemas, placeInQuery } from '../../../http/field-schemas.ts';
import {
  exportJob,
  readExportFile,
  type ExportFileDeps,
} from '../../../platform/export-files/export-file.ts';
import { countQueued } from '../../../platform/export-files/export-queries.ts';
import { isUuid, newId } from '../../../platform/ids.ts';
import type { Platform } from '../../../platform/platform.ts';
import { projectRefOf } from '../../../tenants/project-ref.ts';
import { readAsked, withFixedRange } from '../ask.ts';
import { withoutValues } from '../audited.ts';
import { kindOf, queryBody, readCell, writtenCell } from '../kinds.ts';
import { INSIGHT_EXPORT_TASK, KEPT_MS, MAX_ATTEMPTS } from './job.ts';
import { INSIGHT_EXPORTS, insertExport, selectExport, type InsightExportRow } from './queries.ts';
import { exportFields, insightExport } from './schema.ts';

/** `POST /v1/exports`. */
const exportBody = z.strictObject({
  query: queryBody,
  cell: writtenCell.optional().describe('Whose players; absent: the figures themselves'),
  ...exportFields,
});
type ExportBody = z.infer<typeof exportBody>;

nameSchemas({ InsightExportBody: exportBody });

interface Deps extends ExportFileDeps, Pick<Platform, 'clock' | 'jobs'> {}

/** Exports of a tenant that may wait at a time. */
const MAX_QUEUED = 10;
const RETRY_AFTER_S = 60;

/** Figures and their players as files. */
export function insightExportEndpoints(deps: Deps): AnyEndpoint[] {
  const access = { mode: 'session', role: 'viewer', scope: 'project' } as const;
  return [
    endpoint({
      method: 'POST',
      path: '/v1/exports',
      summary:
        'Creates a file of figures, or of the players of one (editor; with addresses compliance): kept for 24 hours',
      audit: { resource: 'insight_export', action: 'export' },
      access,
      body: exportBody,
      status: 202,
      response: insightExport,
      errors: ['SEGMENT_NOT_FOUND', 'SEGMENT_DEFINITION_INVALID', 'RATE_LIMITED'],
      handle: async ({ caller, body, audit }) =>
        envelope(exportJson(await requestExport({ ...deps, audit }, caller, body))),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/exports/:id',
      summary: 'Whether the file is ready',
      access,
      response: insightExport,
      errors: ['EXPORT_NOT_FOUND'],
      handle: async ({ caller, params }) =>
        envelope(exportJson(await requireExport(deps, caller, params['id'] ?? ''))),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/exports/:id/file',
      summary: 'The file, for the roles that may create it; the audit log records who downloaded players',
      audit: { resource: 'insight_export', action: 'export' },
      // A browser saves what a link leads to, and a link has no headers.
      access: { ...access, named_in: 'query' },
      query: z.strictObject(placeInQuery),
      response: z.string().meta({ format: 'binary' }),
      shape: 'raw',
      content_type: 'application/octet-stream',
      headers: { 'cache-control': 'no-store' },
      errors: ['EXPORT_NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, params, audit, sendFileName }) => {
        const row = await requireExport(deps, caller, params['id'] ?? '');
        if (row.status !== 'ready') {
          const why = row.last_error === null ? ' yet' : `; ${row.last_error}`;
          throw new ApiError('CONFLICT', `the export is ${row.status}: there is no file${why}`);
        }
        if (row.cell !== null) {
          const { tenant_id } = row;
          await deps.postgres.asTenant(tenant_id, (tx) => audit(tx, changeOf(row, 'downloaded')));
        }
        sendFileName(`insights-${row.export_id}.${row.format}`);
        return Readable.from(readExportFile(deps, INSIGHT_EXPORTS, row), { objectMode: false });
      },
    }),
  ];
}

/** Refuses who may not have the rows of an export. Throws FORBIDDEN. */
function requireRights(
  { role }: ProjectSession,
  { has_players, contact }: { has_players: boolean; contact: readonly string[] },
): void {
  const needed = contact.length > 0 ? 'compliance' : has_players ? 'editor' : 'viewer';
  if (roleAllows(role, needed)) return;
  const what = contact.length > 0 ? 'addresses of players' : 'players';
  throw new ApiError('FORBIDDEN', `exports of ${what} need the role ${describeNeeded(needed)}`);
}

async function requestExport(
  deps: Deps & { audit: AuditChange },
  caller: ProjectSession,
  { query, cell: written, format, contact = [], reason }: ExportBody,
): Promise<InsightExportRow> {
  const { postgres, clock, jobs, audit } = deps;
  requireRights(caller, { has_players: written !== undefined, contact });
  if (contact.length > 0 && (written === undefined || reason === undefined)) {
    const path = written === undefined ? 'contact' : 'reason';
    const message = written === undefined ? 'belongs to players: name a cell' : 'is required for addresses';
    throw validationError([{ path, message }]);
  }
  // What cannot be asked is refused here, not in the job.
  const project = projectRefOf(caller);
  const asked = await readAsked(deps, project, query);
  const { scope } = asked;
  const cell = written === undefined ? null : readCell(query, written);
  if (cell === null) kindOf(query).plan(query, scope);
  else kindOf(query).players(query, scope, cell);
  const { tenant_id } = project;
  const now_ms = clock.now_ms();
  return postgres.asTenant(tenant_id, async (tx) => {
    const [counted] = await countQueued(tx, INSIGHT_EXPORTS, tenant_id);
    const queued = counted?.queued ?? 0;
    if (queued >= MAX_QUEUED) {
      const message = `${queued} exports of the tenant are waiting: try again later`;
      throw new ApiError('RATE_LIMITED', message, { retry_after_s: RETRY_AFTER_S });
    }
    const row = await insertExport(tx, {
      ...project,
      export_id: newId(),
      query: withFixedRange(asked),
      cell,
      format,
      contact,
      reason: reason ?? null,
      requested_by: caller.user_id,
      requested_at: new Date(now_ms),
      expires_at: new Date(now_ms + KEPT_MS),
    });
    await audit(tx, changeOf(row, row.status));
    const times = { max_attempts: MAX_ATTEMPTS, is_first: queued === 0 };
    await jobs.add(tx, exportJob(INSIGHT_EXPORT_TASK, row, times));
    return row;
  });
}

/** What the audit log shows: who took what, and why; no value that may be personal. */
function changeOf({ tenant_id, project_id, export_id, ...row }: InsightExportRow, status: string) {
  const { format, contact, reason } = row;
  const [query, cell] = [row.query, row.cell].map(withoutValues);
  const after = { status, query, cell, format, contact, reason };
  return { tenant_id, project_id, resource_id: export_id, before: null, after };
}

async function requireExport(
  { postgres, clock }: Deps,
  caller: ProjectSession,
  export_id: string,
): Promise<InsightExportRow> {
  const project = projectRefOf(caller);
  const [row] = isUuid(export_id)
    ? await postgres.readAsTenant(project.tenant_id, (tx) =>
        selectExport(tx, { ...project, export_id }, new Date(clock.now_ms())),
      )
    : [];
  if (row === undefined) {
    const message = `export ${export_id.slice(0, 64)} does not exist in this project, or its 24 hours are over`;
    throw new ApiError('EXPORT_NOT_FOUND', message);
  }
  requireRights(caller, { has_players: row.cell !== null, contact: row.contact });
  return row;
}

function exportJson(row: InsightExportRow): z.infer<typeof insightExport> {
  return {
    id: row.export_id,
    status: row.status,
    of: row.cell === null ? 'figures' : 'players',
    format: row.format,
    contact: row.contact,
    requested_by: row.requested_by,
    requested_at: row.requested_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
    expires_at: row.expires_at.toISOString(),
    rows: Number(row.rows),
    bytes: Number(row.bytes),
    last_error: row.last_error,
  };
}
