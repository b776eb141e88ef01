import type { PendingQuery } from 'postgres';
import { textArray } from '../../../platform/postgres/arrays.ts';
import { exactJson } from '../../../platform/exact-json.ts';
import type { ExportKind, ExportRef } from '../../../platform/export-files/export-queries.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { InsightQuery } from '../schema.ts';
import type { Contact, ExportFormat } from './schema.ts';

/** Exports of figures and players. */
export const INSIGHT_EXPORTS: ExportKind = {
  rows: 'insight_exports',
  chunks: 'insight_export_chunks',
  name: 'insight export',
};

/** A row of `insight_exports`. */
export interface InsightExportRow extends ProjectRef {
  export_id: string;
  status: 'queued' | 'ready' | 'failed';
  query: InsightQuery;
  /** Null: the figures themselves. */
  cell: unknown;
  format: ExportFormat;
  contact: Contact[];
  reason: string | null;
  requested_by: string;
  requested_at: Date;
  completed_at: Date | null;
  expires_at: Date;
  run_id: string | null;
  rows: bigint;
  bytes: bigint;
  chunks: number;
  last_error: string | null;
}

function columns(tx: Tx) {
  return tx`tenant_id, export_id, project_id, status, query, cell, format, contact, reason, requested_by, requested_at,
    completed_at, expires_at, run_id, rows, bytes, chunks, last_error`;
}

/** Notes an export that somebody asks for. */
export async function insertExport(
  tx: Tx,
  asked: Omit<
    InsightExportRow,
    'status' | 'completed_at' | 'run_id' | 'rows' | 'bytes' | 'chunks' | 'last_error'
  >,
): Promise<InsightExportRow> {
  const cell = asked.cell === null ? null : exactJson(asked.cell);
  const [row] = await tx<InsightExportRow[]>`
    insert into insight_exports (tenant_id, export_id, project_id, status, query, cell, format, contact, reason,
      requested_by, requested_at, expires_at)
    values (${asked.tenant_id}, ${asked.export_id}, ${asked.project_id}, 'queued',
      ${exactJson(asked.query)}::text::json, ${cell}::text::json, ${asked.format},
      ${textArray(asked.contact)}::text::text[], ${asked.reason}, ${asked.requested_by}, ${asked.requested_at},
      ${asked.expires_at})
    returning ${columns(tx)}`;
  if (row === undefined) throw new Error('an insert returned no row');
  return row;
}

/** An export of a project that is not over. */
export function selectExport(
  tx: Tx,
  { tenant_id, project_id, export_id }: ProjectRef & { export_id: string },
  now: Date,
): PendingQuery<InsightExportRow[]> {
  return tx<InsightExportRow[]>`
    select ${columns(tx)} from insight_exports
    where tenant_id = ${tenant_id} and export_id = ${export_id} and project_id = ${project_id} and expires_at > ${now}`;
}

/** The export that a job is to make; undefined when it was made, or removed. */
export async function selectQueued(sql: Tx, ref: ExportRef): Promise<InsightExportRow | undefined> {
  const [row] = await sql<InsightExportRow[]>`
    select ${columns(sql)} from insight_exports
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and status = 'queued'`;
  return row;
}

/** Notes that the file is whole, or why there is no file; false when the export is not queued any more. */
export async function concludeExport(
  sql: Tx,
  ref: ExportRef,
  made: Pick<
    InsightExportRow,
    'status' | 'run_id' | 'rows' | 'bytes' | 'chunks' | 'last_error' | 'completed_at' | 'expires_at'
  >,
): Promise<boolean> {
  const { count } = await sql`
    update insight_exports
    set status = ${made.status}, run_id = ${made.run_id}, rows = ${made.rows}, bytes = ${made.bytes},
      chunks = ${made.chunks}, last_error = ${made.last_error}, completed_at = ${made.completed_at},
      expires_at = ${made.expires_at}
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and status = 'queued'`;
  return count > 0;
}

/** Exports that nothing makes any more, because their job was given up, have failed. */
export async function failAbandoned(sql: Tx, requested_before: Date, now: Date): Promise<void> {
  await sql`
    update insight_exports set status = 'failed', completed_at = ${now}, last_error = coalesce(last_error, 'given up')
    where status = 'queued' and requested_at < ${requested_before}`;
}
