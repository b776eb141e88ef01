import type { PendingQuery } from 'postgres';
import {
  removeExports,
  type ExportKind,
  type ExportRef,
} from '../../platform/export-files/export-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../player-ref.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../dependents.ts';

/** Copies of the data of persons. */
export const PLAYER_EXPORTS: ExportKind = {
  rows: 'player_exports',
  chunks: 'player_export_chunks',
  name: 'export',
};

/** A file of an export, and how many lines it has. */
export interface ExportedFile {
  name: string;
  rows: number;
}

/** A row of `player_exports`. */
export interface ExportRow extends PlayerRef {
  export_id: string;
  status: 'queued' | 'ready' | 'failed';
  requested_by: string;
  requested_at: Date;
  completed_at: Date | null;
  expires_at: Date;
  run_id: string | null;
  files: ExportedFile[];
  bytes: bigint;
  chunks: number;
  last_error: string | null;
}

function columns(tx: Tx) {
  return tx`tenant_id, export_id, project_id, player_id, status, requested_by, requested_at, completed_at, expires_at,
    run_id, files, bytes, chunks, last_error`;
}

/** Notes an export that somebody asks for; when one of the player is queued, that one. */
export async function insertExport(
  tx: Tx,
  asked: PlayerRef & Pick<ExportRow, 'export_id' | 'requested_by' | 'requested_at' | 'expires_at'>,
): Promise<ExportRow | undefined> {
  const { tenant_id, project_id, player_id, export_id, requested_by, requested_at, expires_at } = asked;
  const [row] = await tx<ExportRow[]>`
    insert into player_exports as e (tenant_id, export_id, project_id, player_id, status, requested_by, requested_at,
      expires_at)
    values (${tenant_id}, ${export_id}, ${project_id}, ${player_id}, 'queued', ${requested_by}, ${requested_at},
      ${expires_at})
    on conflict (tenant_id, project_id, player_id) where status = 'queued' do update set status = e.status
    returning ${columns(tx)}`;
  return row;
}

/** Whether no export of the tenant is queued that was asked for before this one. */
export async function isFirst(
  tx: Tx,
  { tenant_id, export_id, requested_at }: Pick<ExportRow, 'tenant_id' | 'export_id' | 'requested_at'>,
): Promise<boolean> {
  const earlier = await tx`
    select from player_exports
    where tenant_id = ${tenant_id} and status = 'queued' and (requested_at, export_id) < (${requested_at}, ${export_id})
    limit 1`;
  return earlier.length === 0;
}

/** An export of a player that is not over. */
export function selectExport(
  tx: Tx,
  ref: PlayerRef & { export_id: string },
  now: Date,
): PendingQuery<ExportRow[]> {
  return tx<ExportRow[]>`
    select ${columns(tx)} from player_exports
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and project_id = ${ref.project_id}
      and player_id = ${ref.player_id} and expires_at > ${now}`;
}

/** The export that a job is to make; no row when it was made, or removed. */
export async function selectQueued(sql: Tx, ref: ExportRef): Promise<ExportRow | undefined> {
  const [row] = await sql<ExportRow[]>`
    select ${columns(sql)} from player_exports
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and status = 'queued'`;
  return row;
}

/** Notes that the file is whole, or why there is no file; false when the export is not queued any more. */
export async function concludeExport(
  sql: Tx,
  ref: ExportRef,
  made: Pick<
    ExportRow,
    'status' | 'run_id' | 'files' | 'bytes' | 'chunks' | 'last_error' | 'completed_at' | 'expires_at'
  >,
): Promise<boolean> {
  const { count } = await sql`
    update player_exports
    set status = ${made.status}, run_id = ${made.run_id}, files = ${JSON.stringify(made.files)}::text::jsonb,
      bytes = ${made.bytes}, chunks = ${made.chunks}, last_error = ${made.last_error},
      completed_at = ${made.completed_at}, expires_at = ${made.expires_at}
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and status = 'queued'`;
  return count > 0;
}

/** Copies of the person's data that were made. */
export const exportEraser: Eraser = {
  step: 'exports',
  erase: (tx, { tenant_id, project_id, player_ids }) =>
    removeExports(
      tx,
      PLAYER_EXPORTS,
      tx`player_id = any(${plainArray(player_ids)}::text::uuid[]) and tenant_id = ${tenant_id}
        and project_id = ${project_id}`,
    ),
};
