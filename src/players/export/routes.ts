import { Readable } from 'node:stream';
import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { exportJob, readExportFile, type ExportFileDeps } from '../../platform/export-files/export-file.ts';
import { countQueued } from '../../platform/export-files/export-queries.ts';
import { isUuid, newId } from '../../platform/ids.ts';
import { requirePlayer } from '../profile/read.ts';
import { EXPORT_TASK, KEPT_MS, MAX_ATTEMPTS } from './job.ts';
import { insertExport, isFirst, PLAYER_EXPORTS, selectExport, type ExportRow } from './queries.ts';
import { int64, nameSchemas } from '../../http/field-schemas.ts';
import type { Platform } from '../../platform/platform.ts';

const timestamp = z.iso.datetime();

/** A copy of a person's data. */
const playerExport = z.object({
  id: z.uuid(),
  player_id: z.uuid(),
  status: z.enum(['queued', 'ready', 'failed']),
  requested_by: z.string(),
  requested_at: timestamp,
  completed_at: timestamp.nullable(),
  expires_at: timestamp.describe('When it is removed: 7 days after it was made'),
  files: z
    .array(z.object({ name: z.string(), rows: z.int() }))
    .describe('The files in the zip, each with one JSON object per line'),
  bytes: int64.describe('The size of the zip'),
  last_error: z.string().nullable().describe('Why it is tried again, or has failed'),
});

nameSchemas({ PlayerExport: playerExport });

interface Deps extends ExportFileDeps, Pick<Platform, 'clock' | 'jobs'> {}

/** Exports of a tenant that may wait at a time. */
const MAX_QUEUED = 100;
const RETRY_AFTER_S = 60;

/** Giving a person the data that the service has of it. */
export function exportEndpoints(deps: Deps): AnyEndpoint[] {
  const access = { mode: 'session', role: 'admin', scope: 'project' } as const;
  const one = '/v1/players/:id/exports/:exportId';
  return [
    endpoint({
      method: 'POST',
      path: '/v1/players/:id/export',
      summary: 'Creates a copy of all data of a person: a zip that is kept for 7 days',
      audit: { resource: 'player', action: 'export' },
      access,
      status: 202,
      response: playerExport,
      errors: ['PLAYER_NOT_FOUND', 'RATE_LIMITED'],
      handle: async ({ caller, params, audit }) =>
        envelope(exportJson(await requestExport({ ...deps, audit }, caller, params['id'] ?? ''))),
    }),
    endpoint({
      method: 'GET',
      path: one,
      summary: 'Whether the copy is ready, and which files it has',
      access,
      response: playerExport,
      errors: ['PLAYER_NOT_FOUND', 'NOT_FOUND'],
      handle: async ({ caller, params }) => envelope(exportJson(await requireExport(deps, caller, params))),
    }),
    endpoint({
      method: 'GET',
      path: `${one}/file`,
      summary: 'The copy: a zip of NDJSON files; the audit log records who downloaded it',
      audit: { resource: 'player', action: 'export' },
      access,
      response: z.string().meta({ format: 'binary' }),
      shape: 'raw',
      content_type: 'application/zip',
      headers: { 'cache-control': 'no-store' },
      errors: ['PLAYER_NOT_FOUND', 'NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, params, audit, sendFileName }) => {
        const row = await requireExport(deps, caller, params);
        if (row.status !== 'ready') {
          throw new ApiError('CONFLICT', `the export is ${row.status}: there is no file${why(row)}`);
        }
        await note({ ...deps, audit }, row, 'downloaded');
        sendFileName(`player-${row.player_id}.zip`);
        return Readable.from(readExportFile(deps, PLAYER_EXPORTS, row), { objectMode: false });
      },
    }),
  ];
}

async function requestExport(
  deps: Deps & { audit: AuditChange },
  { tenant_id, project_id, user_id }: ProjectSession,
  id: string,
): Promise<ExportRow> {
  const { postgres, clock, jobs } = deps;
  const { player_id } = await requirePlayer(postgres, { tenant_id, project_id, player_id: id });
  const [counted] = await postgres.readAsTenant(tenant_id, (tx) =>
    countQueued(tx, PLAYER_EXPORTS, tenant_id),
  );
  if (counted !== undefined && counted.queued >= MAX_QUEUED) {
    const message = `${counted.queued} exports of the tenant are waiting: try again later`;
    throw new ApiError('RATE_LIMITED', message, { retry_after_s: RETRY_AFTER_S });
  }
  const now_ms = clock.now_ms();
  return postgres.asTenant(tenant_id, async (tx) => {
    const row = await insertExport(tx, {
      tenant_id,
      project_id,
      player_id,
      export_id: newId(),
      requested_by: user_id,
      requested_at: new Date(now_ms),
      expires_at: new Date(now_ms + KEPT_MS),
    });
    if (row === undefined) throw new Error('an insert that updates on conflict returned no row');
    const after = { export_id: row.export_id, status: row.status };
    await deps.audit(tx, { tenant_id, project_id, resource_id: player_id, before: null, after });
    const job = exportJob(EXPORT_TASK, row, { max_attempts: MAX_ATTEMPTS, is_first: await isFirst(tx, row) });
    // The time of the first request decides: to ask again changes no turn.
    await jobs.add(tx, { ...job, run_at: row.requested_at });
    return row;
  });
}

async function requireExport(
  { postgres, clock }: Deps,
  { tenant_id, project_id }: ProjectSession,
  params: Readonly<Record<string, string>>,
): Promise<ExportRow> {
  const [id, export_id] = [params['id'] ?? '', params['exportId'] ?? ''];
  const { player_id } = await requirePlayer(postgres, { tenant_id, project_id, player_id: id });
  const [row] = isUuid(export_id)
    ? await postgres.readAsTenant(tenant_id, (tx) =>
        selectExport(tx, { tenant_id, project_id, player_id, export_id }, new Date(clock.now_ms())),
      )
    : [];
  if (row === undefined) {
    const message = `export ${export_id.slice(0, 64)} of the player does not exist, or its 7 days are over`;
    throw new ApiError('NOT_FOUND', message);
  }
  return row;
}

/** Who took the file is on record before the first byte is sent. */
async function note(
  { postgres, audit }: Deps & { audit: AuditChange },
  { tenant_id, project_id, player_id, export_id }: ExportRow,
  status: 'downloaded',
): Promise<void> {
  const change = {
    tenant_id,
    project_id,
    resource_id: player_id,
    before: null,
    after: { export_id, status },
  };
  await postgres.asTenant(tenant_id, (tx) => audit(tx, change));
}

function why({ last_error }: ExportRow): string {
  return last_error === null ? ' yet' : `; ${last_error}`;
}

function exportJson(row: ExportRow): z.infer<typeof playerExport> {
  return {
    id: row.export_id,
    player_id: row.player_id,
    status: row.status,
    requested_by: row.requested_by,
    requested_at: row.requested_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
    expires_at: row.expires_at.toISOString(),
    files: row.files,
    bytes: Number(row.bytes),
    last_error: row.last_error,
  };
}
