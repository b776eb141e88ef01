import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../player-ref.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Eraser } from '../dependents.ts';

/** Chunks that one statement removes: 50 MB. */
const CHUNKS_AT_ONCE = 200;
/** Exports that one transaction removes. */
const EXPORTS_AT_ONCE = 10;

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

export type ExportRef = Pick<ExportRow, 'tenant_id' | 'export_id'>;

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

/** How many exports of the tenant are queued. */
export function countQueued(tx: Tx, tenant_id: string): PendingQuery<{ queued: number }[]> {
  return tx<{ queued: number }[]>`
    select count(*)::integer as queued from player_exports where tenant_id = ${tenant_id} and status = 'queued'`;
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

/**
 * Keeps a chunk of the file; false when the export is not queued any more. The removal of an export waits for the chunk, and
 * removes it too.
 */
export async function insertChunk(
  sql: Tx,
  ref: ExportRef,
  chunk: { run_id: string; chunk_no: number; encrypted: Buffer },
): Promise<boolean> {
  const { count } = await sql`
    insert into player_export_chunks (tenant_id, export_id, run_id, chunk_no, encrypted)
    select e.tenant_id, e.export_id, ${chunk.run_id}::uuid, ${chunk.chunk_no}::integer, ${chunk.encrypted}::bytea
    from player_exports e
    where e.tenant_id = ${ref.tenant_id} and e.export_id = ${ref.export_id} and e.status = 'queued'
    for key share`;
  return count > 0;
}

/** A chunk of the file. */
export function selectChunk(
  tx: Tx,
  { tenant_id, export_id, run_id }: Pick<ExportRow, 'tenant_id' | 'export_id' | 'run_id'>,
  chunk_no: number,
): PendingQuery<{ encrypted: Buffer }[]> {
  return tx<{ encrypted: Buffer }[]>`
    select encrypted from player_export_chunks
    where tenant_id = ${tenant_id} and export_id = ${export_id} and run_id = ${run_id} and chunk_no = ${chunk_no}`;
}

/** Notes why an export that is still queued was not made yet. */
export async function noteExportError(sql: Tx, ref: ExportRef, last_error: string): Promise<void> {
  await sql`
    update player_exports set last_error = ${last_error}
    where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id} and status = 'queued'`;
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

/** Removes chunks of the export that are not of this run, as many as one statement may; returns how many. */
export async function removeOtherChunks(sql: Tx, ref: ExportRef, run_id: string | null): Promise<number> {
  const { count } = await sql`
    delete from player_export_chunks c where c.ctid = any(array(
      select o.ctid from player_export_chunks o
      where o.tenant_id = ${ref.tenant_id} and o.export_id = ${ref.export_id} and o.run_id is distinct from ${run_id}
      limit ${CHUNKS_AT_ONCE}))`;
  return count;
}

/**
 * Removes some of the exports of which `isGone` is true: first chunks, then the rows that have none. Returns how many rows of
 * both were removed; repeat it until 0. In a transaction: the rows are locked first, so no chunk is added to one that goes.
 */
export async function removeExports(tx: Tx, isGone: PendingQuery<Row[]>): Promise<number> {
  const gone = await tx<ExportRef[]>`
    select tenant_id, export_id from player_exports where ${isGone}
    order by tenant_id, export_id limit ${EXPORTS_AT_ONCE} for update`;
  for (const ref of gone) {
    const chunks = await removeOtherChunks(tx, ref, null);
    if (chunks > 0) return chunks;
    await tx`delete from player_exports where tenant_id = ${ref.tenant_id} and export_id = ${ref.export_id}`;
  }
  return gone.length;
}

/** Removes some of what is left of exports that are over; returns how many rows, 0 when none are left. */
export function removeExpired(tx: Tx, now: Date): Promise<number> {
  return removeExports(tx, tx`expires_at <= ${now}`);
}

/** Copies of the person's data that were made. */
export const exportEraser: Eraser = {
  step: 'exports',
  erase: (tx, { tenant_id, project_id, player_ids }) =>
    removeExports(
      tx,
      tx`player_id = any(${plainArray(player_ids)}::text::uuid[]) and tenant_id = ${tenant_id}
        and project_id = ${project_id}`,
    ),
};
