import { makeZip } from 'client-zip';
import {
  exportRef,
  FileTooLarge,
  keepChunksOf,
  writeExportFile,
  type ExportFileDeps,
} from '../../platform/export-files/export-file.ts';
import { noteExportError } from '../../platform/export-files/export-queries.ts';
import { newId } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PlayerFile } from '../dependents.ts';
import { selectMergedIds } from '../erasure/queries.ts';
import { filesOf, type FileSource } from './files.ts';
import { OWN_FILES } from './own-queries.ts';
import {
  concludeExport,
  PLAYER_EXPORTS,
  selectQueued,
  type ExportedFile,
  type ExportRow,
} from './queries.ts';

/** Makes an export of a player. */
export const EXPORT_TASK = 'export-player';

/** How often the task is tried. */
export const MAX_ATTEMPTS = 5;
/** How long a file is kept after it was made. */
export const KEPT_MS = 7 * 86_400_000;
/** The largest zip. */
const MAX_BYTES = 2 * 1024 ** 3;

/** What the job needs: parts of the platform, and what the rooms and the configuration give. */
export interface ExportDeps extends ExportFileDeps, Pick<Platform, 'clickhouse' | 'clock' | 'logger'> {
  /** The files of rooms above. */
  files: readonly PlayerFile[];
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
  await keepChunksOf(postgres, PLAYER_EXPORTS, ref, null);
  let made: Pick<ExportRow, 'status' | 'run_id' | 'files' | 'bytes' | 'chunks' | 'last_error'>;
  try {
    made = { ...(await writeFile(deps, row, run_id, stop)), status: 'ready', run_id, last_error: null };
  } catch (error) {
    if (error instanceof Removed) {
      logger.info({ export_id: ref.export_id }, error.message);
      return;
    }
    if (!(error instanceof FileTooLarge)) {
      const message = 'an attempt failed; the log of the service says why';
      if (!stop.aborted) await noteExportError(postgres.service, PLAYER_EXPORTS, ref, message);
      throw error;
    }
    made = { status: 'failed', run_id: null, files: [], bytes: 0n, chunks: 0, last_error: error.message };
  }
  const now_ms = clock.now_ms();
  const times = { completed_at: new Date(now_ms), expires_at: new Date(now_ms + KEPT_MS) };
  const is_kept = await concludeExport(postgres.service, ref, { ...made, ...times });
  await keepChunksOf(postgres, PLAYER_EXPORTS, ref, is_kept ? made.run_id : null);
  logger.info(
    { export_id: ref.export_id, status: made.status, bytes: made.bytes.toString() },
    'an export ended',
  );
}

/** The export was removed: by an erasure of the person, or because its time is over. */
class Removed extends Error {
  override readonly name = 'Removed';
}

async function writeFile(
  deps: ExportDeps,
  row: ExportRow,
  run_id: string,
  stop: AbortSignal,
): Promise<Pick<ExportRow, 'files' | 'bytes' | 'chunks'>> {
  const { postgres, clock } = deps;
  const { tenant_id, project_id, player_id } = row;
  const merged = await selectMergedIds(postgres.service, row);
  const person = { tenant_id, project_id, player_ids: [player_id, ...merged] };
  const files: ExportedFile[] = [];
  const sources = filesOf(deps, person, [...OWN_FILES, ...deps.files]);
  const zip = makeZip(zipped(sources, files, new Date(clock.now_ms())));
  const written = await writeExportFile(deps, PLAYER_EXPORTS, row, run_id, {
    file: zip,
    max_bytes: MAX_BYTES,
    stop,
  });
  if (written === undefined) throw new Removed('the export was removed while it was made');
  return { ...written, files };
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
