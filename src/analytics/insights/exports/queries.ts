import type { PendingQuery } from 'postgres';
import { textArray } from '../../../platform/postgres/arrays.ts';
import { exactJson } from '../../../platform/exact-json.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { InsightQuery } from '../schema.ts';
import type { Contact, ExportFormat } from './schema.ts';

/** Chunks that one statement removes: 50 MB. */
const CHUNKS_AT_ONCE = 200;
/** Exports that one transaction removes. */
const EXPORTS_AT_ONCE = 10;

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

export type InsightExportRef = Pick<InsightExportRow, 'tenant_id' | 'export_id'>;

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

/** How many exports of the tenant are queued. */
export function countQueued(tx: Tx, tenant_id: string): PendingQuery<{ queued: number }[]> {
  return tx<{ queued: number }[]>`
    select count(*)::integer as queued from insight_exports where tenant_id = ${tenant_id} and status = 'queued'`;
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
export async function selectQueued(sql: Tx, ref: InsightExportRef): Promise<InsightExportRow | undefined> {
  const [row] = await sql<InsightExportRow[]>`
    select ${columns(sql)} from insight_exports
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and status = 'queued'`;
  return row;
}

/** Keeps a chunk of the file; false when the export is not queued any more. */
export async function insertChunk(
  sql: Tx,
  ref: InsightExportRef,
  chunk: { run_id: string; chunk_no: number; encrypted: Buffer },
): Promise<boolean> {
  const { count } = await sql`
    insert into insight_export_chunks (tenant_id, export_id, run_id, chunk_no, encrypted)
    select e.tenant_id, e.export_id, ${chunk.run_id}::uuid, ${chunk.chunk_no}::integer, ${chunk.encrypted}::bytea
    from insight_exports e
    where e.tenant_id = ${ref.tenant_id} and e.export_id = ${ref.export_id} and e.status = 'queued'
    for key share`;
  return count > 0;
}

/** A chunk of the file. */
export function selectChunk(
  tx: Tx,
  { tenant_id, export_id, run_id }: Pick<InsightExportRow, 'tenant_id' | 'export_id' | 'run_id'>,
  chunk_no: number,
): PendingQuery<{ encrypted: Buffer }[]> {
  return tx<{ encrypted: Buffer }[]>`
    select encrypted from insight_export_chunks
    where tenant_id = ${tenant_id} and export_id = ${export_id} and run_id = ${run_id} and chunk_no = ${chunk_no}`;
}

/** Notes why an export that is still queued was not made yet. */
export async function noteExportError(sql: Tx, ref: InsightExportRef, last_error: string): Promise<void> {
  await sql`
    update insight_exports set last_error = ${last_error}
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and status = 'queued'`;
}

/** Notes that the file is whole, or why there is no file; false when the export is not queued any more. */
export async function concludeExport(
  sql: Tx,
  ref: InsightExportRef,
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

/** Removes chunks of the export that are not of this run, as many as one statement may; returns how many. */
export async function removeOtherChunks(
  sql: Tx,
  ref: InsightExportRef,
  run_id: string | null,
): Promise<number> {
  const { count } = await sql`
    delete from insight_export_chunks c where c.ctid = any(array(
      select o.ctid from insight_export_chunks o
      where o.tenant_id = ${ref.tenant_id} and o.export_id = ${ref.export_id} and o.run_id is distinct from ${run_id}
      limit ${CHUNKS_AT_ONCE}))`;
  return count;
}

/** Exports that nothing makes any more, because their job was given up, have failed. */
export async function failAbandoned(sql: Tx, requested_before: Date, now: Date): Promise<void> {
  await sql`
    update insight_exports set status = 'failed', completed_at = ${now}, last_error = coalesce(last_error, 'given up')
    where status = 'queued' and requested_at < ${requested_before}`;
}

/**
 * Removes some of the exports that are over, first chunks, then the rows that have none. Returns how many rows of both were
 * removed; repeat it until 0. In a transaction: the rows are locked first, so no chunk is added to one that goes.
 */
export async function removeExpired(tx: Tx, now: Date): Promise<number> {
  const gone = await tx<InsightExportRef[]>`
    select tenant_id, export_id from insight_exports where expires_at <= ${now}
    order by tenant_id, export_id limit ${EXPORTS_AT_ONCE} for update`;
  for (const ref of gone) {
    const chunks = await removeOtherChunks(tx, ref, null);
    if (chunks > 0) return chunks;
    await tx`delete from insight_exports where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id}`;
  }
  return gone.length;
}
