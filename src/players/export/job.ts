import { makeZip } from 'client-zip';
import { z } from 'zod';
import { encryptBytes, type EncryptionKeys } from '../../platform/encryption.ts';
import { inChunks } from '../../platform/file-chunks.ts';
import { newId } from '../../platform/ids.ts';
import type { NewJob } from '../../platform/jobs/port.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PlayerFile } from '../dependents.ts';
import { selectMergedIds } from '../erasure/queries.ts';
import { filesOf, type FileSource } from './files.ts';
import { OWN_FILES } from './own-queries.ts';
import {
  concludeExport,
  insertChunk,
  noteExportError,
  removeExpired,
  removeOtherChunks,
  selectQueued,
  type ExportedFile,
  type ExportRef,
  type ExportRow,
} from './queries.ts';

/** Makes an export of a player. */
export const EXPORT_TASK = 'export-player';

const MAX_ATTEMPTS = 5;
/** How long a file is kept after it was made. */
export const KEPT_MS = 7 * 86_400_000;
/** The largest zip. */
const MAX_BYTES = 2 * 1024 ** 3;

/** What the job needs: parts of the platform, and what the rooms and the configuration give. */
export interface ExportDeps extends Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger'> {
  /** The files of rooms above. */
  files: readonly PlayerFile[];
  credentials_keys: EncryptionKeys;
}

const exportRef = z.strictObject({ tenant_id: z.uuid(), export_id: z.uuid() });

/**
 * A job that makes the export. One is made at a time: each reads much. One that is the first of its tenant comes before the
 * further ones of all tenants, so no tenant waits for all of another's. Otherwise the time of the first request decides: to
 * ask again changes no turn.
 */
export function exportJob(
  { tenant_id, export_id, requested_at }: ExportRef & Pick<ExportRow, 'requested_at'>,
  is_first: boolean,
): NewJob {
  const payload = { tenant_id, export_id };
  const job_key = `${EXPORT_TASK} ${export_id}`;
  return {
    task: EXPORT_TASK,
    payload,
    max_attempts: MAX_ATTEMPTS,
    job_key,
    queue: EXPORT_TASK,
    priority: is_first ? -1 : 0,
    run_at: requested_at,
  };
}

/** The owner of a chunk in its encryption: in another place of the file, or in another file, it cannot be decrypted. */
export function chunkOwner({ tenant_id, export_id }: ExportRef, run_id: string, chunk_no: number): string {
  return `${tenant_id} export ${export_id} ${run_id} ${chunk_no}`;
}

/**
 * The task `export-player`: reads the files page by page into a zip, and keeps that in encrypted chunks, so that neither the
 * memory nor the disk of this process holds it. A repeated run makes the file anew; readers see the file of the run that ended.
 */
export async function runExportJob(deps: ExportDeps, payload: unknown, stop: AbortSignal): Promise<void> {
  const { postgres, clock, logger } = deps;
  const ref = exportRef.parse(payload);
  const row = await selectQueued(postgres.service, ref);
  if (row === undefined) return;
  const run_id = newId();
  await keepChunksOf(postgres, ref, null);
  let made: Pick<ExportRow, 'status' | 'run_id' | 'files' | 'bytes' | 'chunks' | 'last_error'>;
  try {
    made = { ...(await writeFile(deps, row, run_id, stop)), status: 'ready', run_id, last_error: null };
  } catch (error) {
    if (error instanceof Removed) {
      logger.info({ export_id: ref.export_id }, error.message);
      return;
    }
    if (!(error instanceof TooLarge)) {
      const message = 'an attempt failed; the log of the service says why';
      if (!stop.aborted) await noteExportError(postgres.service, ref, message);
      throw error;
    }
    made = { status: 'failed', run_id: null, files: [], bytes: 0n, chunks: 0, last_error: error.message };
  }
  const now_ms = clock.now_ms();
  const times = { completed_at: new Date(now_ms), expires_at: new Date(now_ms + KEPT_MS) };
  const is_kept = await concludeExport(postgres.service, ref, { ...made, ...times });
  await keepChunksOf(postgres, ref, is_kept ? made.run_id : null);
  logger.info(
    { export_id: ref.export_id, status: made.status, bytes: made.bytes.toString() },
    'an export ended',
  );
}

/** Removes the chunks of all runs but this one. */
async function keepChunksOf(
  { service }: ExportDeps['postgres'],
  ref: ExportRef,
  run_id: string | null,
): Promise<void> {
  while ((await removeOtherChunks(service, ref, run_id)) > 0);
}

/** The export was removed: by an erasure of the person, or because its time is over. */
class Removed extends Error {
  override readonly name = 'Removed';
}

class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

async function writeFile(
  deps: ExportDeps,
  row: ExportRow,
  run_id: string,
  stop: AbortSignal,
): Promise<Pick<ExportRow, 'files' | 'bytes' | 'chunks'>> {
  const { postgres, clock, credentials_keys } = deps;
  const { tenant_id, project_id, player_id } = row;
  const merged = await selectMergedIds(postgres.service, row);
  const person = { tenant_id, project_id, player_ids: [player_id, ...merged] };
  const files: ExportedFile[] = [];
  const sources = filesOf(deps, person, [...OWN_FILES, ...deps.files]);
  const zip = makeZip(zipped(sources, files, new Date(clock.now_ms())));
  let [bytes, chunks] = [0, 0];
  for await (const chunk of inChunks(zip)) {
    stop.throwIfAborted();
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new TooLarge(`the export is larger than ${MAX_BYTES} bytes`);
    const encrypted = encryptBytes(credentials_keys, chunkOwner(row, run_id, chunks), chunk);
    const is_kept = await insertChunk(postgres.service, row, { run_id, chunk_no: chunks, encrypted });
    if (!is_kept) throw new Removed('the export was removed while it was made');
    chunks++;
  }
  return { files, bytes: BigInt(bytes), chunks };
}

async function* zipped(sources: readonly FileSource[], files: ExportedFile[], lastModified: Date) {
  for (const { name, pages } of sources) {
    const file = { name: `${name}.ndjson`, rows: 0 };
    files.push(file);
    yield { name: file.name, lastModified, input: contentOf(pages(), file) };
  }
}

async function* contentOf(
  pages: AsyncIterable<readonly string[]>,
  file: ExportedFile,
): AsyncGenerator<Uint8Array> {
  for await (const lines of pages) {
    file.rows += lines.length;
    if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`);
  }
}

/** Removes exports whose time is over. */
export async function removeExpiredExports(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  stop?: AbortSignal,
): Promise<void> {
  const now = new Date(clock.now_ms());
  for (;;) {
    const removed = await postgres.service.begin((tx) => removeExpired(tx, now));
    if (removed === 0 || stop?.aborted === true) return;
  }
}
