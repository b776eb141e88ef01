import { z } from 'zod';
import { decryptBytes, encryptBytes, type EncryptionKeys } from '../encryption.ts';
import type { NewJob } from '../jobs/port.ts';
import type { Platform } from '../platform.ts';
import {
  insertChunk,
  removeExpired,
  removeOtherChunks,
  selectChunk,
  type ExportKind,
  type ExportRef,
} from './export-queries.ts';
import { inChunks } from './file-chunks.ts';

/** What files of exports need. */
export interface ExportFileDeps extends Pick<Platform, 'postgres'> {
  credentials_keys: EncryptionKeys;
}

/** The payload of a job that makes an export. */
export const exportRef = z.strictObject({ tenant_id: z.uuid(), export_id: z.uuid() });

/**
 * A job of a task that makes an export. One of a task is made at a time: each reads much. One that is the first of its tenant
 * comes before the further ones of all tenants, so no tenant waits for all of another's.
 */
export function exportJob(
  task: string,
  { tenant_id, export_id }: ExportRef,
  { max_attempts, is_first }: { max_attempts: number; is_first: boolean },
): NewJob {
  const payload = { tenant_id, export_id };
  const job_key = `${task} ${export_id}`;
  return { task, payload, max_attempts, job_key, queue: task, priority: is_first ? -1 : 0 };
}

/** The owner of a chunk in its encryption: in another place of the file, or in another file, it cannot be decrypted. */
function chunkOwner(
  kind: ExportKind,
  { tenant_id, export_id }: ExportRef,
  run_id: string,
  chunk_no: number,
): string {
  return `${tenant_id} ${kind.name} ${export_id} ${run_id} ${chunk_no}`;
}

/** A file was larger than it may be. */
export class FileTooLarge extends Error {
  override readonly name = 'FileTooLarge';
}

/**
 * Keeps a file in encrypted chunks of a run, so that neither the memory nor the disk of this process holds it. Readers see
 * the run that the row of the export names. Resolves with undefined when the export was removed meanwhile. Rejects with
 * {@link FileTooLarge}, when `stop` is aborted, and as `file` does.
 */
export async function writeExportFile(
  { postgres, credentials_keys }: ExportFileDeps,
  kind: ExportKind,
  ref: ExportRef,
  run_id: string,
  {
    file,
    max_bytes = Infinity,
    stop,
  }: {
    file: AsyncIterable<Uint8Array>;
    max_bytes?: number;
    stop: AbortSignal;
  },
): Promise<{ bytes: bigint; chunks: number } | undefined> {
  let [bytes, chunks] = [0, 0];
  for await (const chunk of inChunks(file)) {
    stop.throwIfAborted();
    bytes += chunk.byteLength;
    if (bytes > max_bytes) throw new FileTooLarge(`the export is larger than ${max_bytes} bytes`);
    const encrypted = encryptBytes(credentials_keys, chunkOwner(kind, ref, run_id, chunks), chunk);
    const is_kept = await insertChunk(postgres.service, kind, ref, { run_id, chunk_no: chunks, encrypted });
    if (!is_kept) return undefined;
    chunks++;
  }
  return { bytes: BigInt(bytes), chunks };
}

/** The file, one chunk after the other: a client that is slow holds one in memory. */
export async function* readExportFile(
  { postgres, credentials_keys }: ExportFileDeps,
  kind: ExportKind,
  row: ExportRef & { run_id: string | null; chunks: number },
): AsyncGenerator<Buffer> {
  for (let chunk_no = 0; chunk_no < row.chunks; chunk_no++) {
    const [chunk] = await postgres.readAsTenant(row.tenant_id, (tx) => selectChunk(tx, kind, row, chunk_no));
    if (chunk === undefined) throw new Error(`export ${row.export_id} was removed while it was read`);
    yield decryptBytes(credentials_keys, chunkOwner(kind, row, row.run_id ?? '', chunk_no), chunk.encrypted);
  }
}

/** Removes the chunks of all runs of the export but this one. */
export async function keepChunksOf(
  { service }: Platform['postgres'],
  kind: ExportKind,
  ref: ExportRef,
  run_id: string | null,
): Promise<void> {
  while ((await removeOtherChunks(service, kind, ref, run_id)) > 0);
}

/** Removes the exports of a kind whose time is over. */
export async function removeExpiredExports(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  kind: ExportKind,
  stop?: AbortSignal,
): Promise<void> {
  const now = new Date(clock.now_ms());
  for (;;) {
    const removed = await postgres.service.begin((tx) => removeExpired(tx, kind, now));
    if (removed === 0 || stop?.aborted === true) return;
  }
}
