import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../postgres/port.ts';

/** Chunks that one statement removes: 50 MB. */
const CHUNKS_AT_ONCE = 200;
/** Exports that one transaction removes. */
const EXPORTS_AT_ONCE = 10;

/** A kind of exports: the table of its rows, the table of the chunks of their files, and its name in their encryption. */
export interface ExportKind {
  rows: 'insight_exports' | 'player_exports';
  chunks: 'insight_export_chunks' | 'player_export_chunks';
  name: string;
}

/** An export. */
export interface ExportRef {
  tenant_id: string;
  export_id: string;
}

/** How many exports of the tenant are queued. */
export function countQueued(
  tx: Tx,
  { rows }: ExportKind,
  tenant_id: string,
): PendingQuery<{ queued: number }[]> {
  return tx<{ queued: number }[]>`
    select count(*)::integer as queued from ${tx(rows)} where tenant_id = ${tenant_id} and status = 'queued'`;
}

/**
 * Keeps a chunk of the file; false when the export is not queued any more. The removal of an export waits for the chunk, and
 * removes it too.
 */
export async function insertChunk(
  sql: Tx,
  { rows, chunks }: ExportKind,
  ref: ExportRef,
  chunk: { run_id: string; chunk_no: number; encrypted: Buffer },
): Promise<boolean> {
  const { count } = await sql`
    insert into ${sql(chunks)} (tenant_id, export_id, run_id, chunk_no, encrypted)
    select e.tenant_id, e.export_id, ${chunk.run_id}::uuid, ${chunk.chunk_no}::integer, ${chunk.encrypted}::bytea
    from ${sql(rows)} e
    where e.tenant_id = ${ref.tenant_id} and e.export_id = ${ref.export_id} and e.status = 'queued'
    for key share`;
  return count > 0;
}

/** A chunk of the file. */
export function selectChunk(
  tx: Tx,
  { chunks }: ExportKind,
  { tenant_id, export_id, run_id }: ExportRef & { run_id: string | null },
  chunk_no: number,
): PendingQuery<{ encrypted: Buffer }[]> {
  return tx<{ encrypted: Buffer }[]>`
    select encrypted from ${tx(chunks)}
    where tenant_id = ${tenant_id} and export_id = ${export_id} and run_id = ${run_id} and chunk_no = ${chunk_no}`;
}

/** Notes why an export that is still queued was not made yet. */
export async function noteExportError(
  sql: Tx,
  { rows }: ExportKind,
  ref: ExportRef,
  last_error: string,
): Promise<void> {
  await sql`
    update ${sql(rows)} set last_error = ${last_error}
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and status = 'queued'`;
}

/** Removes chunks of the export that are not of this run, as many as one statement may; returns how many. */
export async function removeOtherChunks(
  sql: Tx,
  { chunks }: ExportKind,
  ref: ExportRef,
  run_id: string | null,
): Promise<number> {
  const { count } = await sql`
    delete from ${sql(chunks)} c where c.ctid = any(array(
      select o.ctid from ${sql(chunks)} o
      where o.tenant_id = ${ref.tenant_id} and o.export_id = ${ref.export_id} and o.run_id is distinct from ${run_id}
      limit ${CHUNKS_AT_ONCE}))`;
  return count;
}

/**
 * Removes some of the exports of which `isGone` is true: first chunks, then the rows that have none. Returns how many rows of
 * both were removed; repeat it until 0. In a transaction: the rows are locked first, so no chunk is added to one that goes.
 */
export async function removeExports(tx: Tx, kind: ExportKind, isGone: PendingQuery<Row[]>): Promise<number> {
  const gone = await tx<ExportRef[]>`
    select tenant_id, export_id from ${tx(kind.rows)} where ${isGone}
    order by tenant_id, export_id limit ${EXPORTS_AT_ONCE} for update`;
  for (const ref of gone) {
    const chunks = await removeOtherChunks(tx, kind, ref, null);
    if (chunks > 0) return chunks;
    await tx`delete from ${tx(kind.rows)} where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id}`;
  }
  return gone.length;
}

/** Removes some of what is left of exports that are over; returns how many rows, 0 when none are left. */
export function removeExpired(tx: Tx, kind: ExportKind, now: Date): Promise<number> {
  return removeExports(tx, kind, tx`expires_at <= ${now}`);
}
