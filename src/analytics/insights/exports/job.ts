import type { Readable } from 'node:stream';
import { z } from 'zod';
import { ApiError, type ErrorCode } from '../../../errors.ts';
import { encryptBytes, type EncryptionKeys } from '../../../platform/encryption.ts';
import { inChunks } from '../../../platform/file-chunks.ts';
import { newId } from '../../../platform/ids.ts';
import type { NewJob } from '../../../platform/jobs/port.ts';
import { isOverLimits } from '../../../platform/clickhouse/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import { readAsked } from '../ask.ts';
import type { Question } from '../insight-queries.ts';
import type { Statement } from '../kind.ts';
import { kindOf } from '../kinds.ts';
import type { InsightRunner } from '../runner.ts';
import { csvOf, fileColumns } from './csv.ts';
import { figuresParquet, playersFile, readSize } from './file-queries.ts';
import {
  concludeExport,
  failAbandoned,
  insertChunk,
  noteExportError,
  removeExpired,
  removeOtherChunks,
  selectQueued,
  type InsightExportRef,
  type InsightExportRow,
} from './queries.ts';

/** Makes an export of figures or players. */
export const INSIGHT_EXPORT_TASK = 'insight-export';

const MAX_ATTEMPTS = 8;
/** All attempts are over by then. */
const ABANDONED_MS = 6 * 3_600_000;
/** How long a file is kept after it was made. */
export const KEPT_MS = 86_400_000;
/** Players in a file. */
export const MAX_EXPORT_ROWS = 5_000_000;

/** What the job needs; the runner gives figures within the budget of the tenant. */
export interface InsightExportDeps extends Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger'> {
  runner: InsightRunner;
  credentials_keys: EncryptionKeys;
}

const exportRef = z.strictObject({ tenant_id: z.uuid(), export_id: z.uuid() });

/**
 * A job that makes the export. One is made at a time: each may read as much as a query may. One that is the first of its
 * tenant comes before the further ones of all tenants, so no tenant waits for all of another's.
 */
export function exportJob({ tenant_id, export_id }: InsightExportRef, is_first: boolean): NewJob {
  return {
    task: INSIGHT_EXPORT_TASK,
    payload: { tenant_id, export_id },
    max_attempts: MAX_ATTEMPTS,
    job_key: `${INSIGHT_EXPORT_TASK} ${export_id}`,
    queue: INSIGHT_EXPORT_TASK,
    priority: is_first ? -1 : 0,
  };
}

/** The owner of a chunk in its encryption: in another place of the file, or in another file, it cannot be decrypted. */
export function chunkOwner(
  { tenant_id, export_id }: InsightExportRef,
  run_id: string,
  chunk_no: number,
): string {
  return `${tenant_id} insight export ${export_id} ${run_id} ${chunk_no}`;
}

/** Errors that a further attempt would meet, too. */
const FINAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'VALIDATION_ERROR',
  'SEGMENT_NOT_FOUND',
  'SEGMENT_DEFINITION_INVALID',
  'INSIGHT_TOO_EXPENSIVE',
]);

/**
 * The task `insight-export`: writes the file in encrypted chunks. A repeated run makes the file anew; readers see the file of
 * the run that ended.
 */
export async function runInsightExportJob(
  deps: InsightExportDeps,
  payload: unknown,
  stop: AbortSignal,
): Promise<void> {
  const { postgres, clock } = deps;
  const ref = exportRef.parse(payload);
  const row = await selectQueued(postgres.service, ref);
  if (row === undefined) return;
  const run_id = newId();
  await keepChunksOf(deps, ref, null);
  let made: Pick<InsightExportRow, 'status' | 'run_id' | 'rows' | 'bytes' | 'chunks' | 'last_error'>;
  try {
    const written = await writeFile(deps, row, run_id, stop);
    if (written === undefined) return;
    made = { ...written, status: 'ready', run_id, last_error: null };
  } catch (error) {
    if (!(error instanceof ApiError && FINAL.has(error.code))) {
      const message =
        error instanceof ApiError ? error.message : 'an attempt failed; the log of the service says why';
      if (!stop.aborted) await noteExportError(postgres.service, ref, message);
      throw error;
    }
    made = { status: 'failed', run_id: null, rows: 0n, bytes: 0n, chunks: 0, last_error: error.message };
  }
  const now_ms = clock.now_ms();
  const times = { completed_at: new Date(now_ms), expires_at: new Date(now_ms + KEPT_MS) };
  const is_kept = await concludeExport(postgres.service, ref, { ...made, ...times });
  await keepChunksOf(deps, ref, is_kept ? made.run_id : null);
}

/** Removes the chunks of all runs but this one. */
async function keepChunksOf(
  { postgres: { service } }: InsightExportDeps,
  ref: InsightExportRef,
  run_id: string | null,
): Promise<void> {
  while ((await removeOtherChunks(service, ref, run_id)) > 0);
}

/** Undefined: the export was removed meanwhile. */
async function writeFile(
  deps: InsightExportDeps,
  row: InsightExportRow,
  run_id: string,
  stop: AbortSignal,
): Promise<Pick<InsightExportRow, 'rows' | 'bytes' | 'chunks'> | undefined> {
  const { postgres, credentials_keys } = deps;
  const { rows, file } = await (row.cell === null ? figures(deps, row) : players(deps, row));
  let [bytes, chunks] = [0, 0];
  for await (const chunk of inChunks(file)) {
    stop.throwIfAborted();
    bytes += chunk.byteLength;
    const encrypted = encryptBytes(credentials_keys, chunkOwner(row, run_id, chunks), chunk);
    const is_kept = await insertChunk(postgres.service, row, { run_id, chunk_no: chunks, encrypted });
    if (!is_kept) return undefined;
    chunks++;
  }
  return { rows: BigInt(rows), bytes: BigInt(bytes), chunks };
}

interface Made {
  rows: number;
  file: AsyncIterable<Uint8Array>;
}

/** The rows of the figures, and of a breakdown the rest of each interval. */
async function figures(
  deps: InsightExportDeps,
  { query, format, ...project }: InsightExportRow,
): Promise<Made> {
  const { tenant_id, project_id } = project;
  const ref = { tenant_id, project_id };
  const { scope } = await readAsked(deps, ref, query);
  const plan = kindOf(query).plan(query, scope);
  const found = plan.read(await deps.runner.run(deps.clickhouse, ref, plan.statements));
  const columns = fileColumns(found.columns);
  const rows = [...found.rows, ...(found.other ?? [])];
  if (format === 'csv') return { rows: rows.length, file: oneOf(csvOf(columns, rows)) };
  const file = await figuresParquet(deps.clickhouse, columns, rows);
  if (file !== undefined) return { rows: rows.length, file };
  const message = `${rows.length} rows are too many for Parquet: ask for CSV`;
  throw new ApiError('INSIGHT_TOO_EXPENSIVE', message);
}

async function* oneOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function players(
  { postgres, clickhouse, clock }: InsightExportDeps,
  { tenant_id, project_id, query, cell, format, contact }: InsightExportRow,
): Promise<{ rows: number; file: Readable }> {
  const project = { tenant_id, project_id };
  const { scope } = await readAsked({ postgres, clock }, project, query);
  const statement = kindOf(query).players(query, scope, cell);
  const question = { ...project, now_ms: clock.now_ms() };
  const asked = { statement, format, contact };
  try {
    return await playersOf(clickhouse, question, asked);
  } catch (cause) {
    if (!isOverLimits(cause)) throw cause;
    const message = 'the players need more rows, time or memory than a file may take: ask for a smaller cell';
    throw new ApiError('INSIGHT_TOO_EXPENSIVE', message, { cause });
  }
}

async function playersOf(
  clickhouse: InsightExportDeps['clickhouse'],
  question: Question,
  { statement, format, contact }: Pick<InsightExportRow, 'format' | 'contact'> & { statement: Statement },
): Promise<{ rows: number; file: Readable }> {
  const { rows, has_fractions } = await readSize(clickhouse, question, statement);
  if (rows > MAX_EXPORT_ROWS) {
    const message = `the cell has ${rows} players, and a file at most ${MAX_EXPORT_ROWS}`;
    throw new ApiError('INSIGHT_TOO_EXPENSIVE', message);
  }
  return {
    rows,
    file: await playersFile(clickhouse, question, statement, { format, contact, has_fractions }),
  };
}

/** Removes exports whose time is over, and ends those whose job was given up. */
export async function removeExpiredInsightExports(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  stop?: AbortSignal,
): Promise<void> {
  const now = new Date(clock.now_ms());
  await failAbandoned(postgres.service, new Date(now.getTime() - ABANDONED_MS), now);
  for (;;) {
    const removed = await postgres.service.begin((tx) => removeExpired(tx, now));
    if (removed === 0 || stop?.aborted === true) return;
  }
}
