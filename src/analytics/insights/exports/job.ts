import type { Readable } from 'node:stream';
import { ApiError, type ErrorCode } from '../../../errors.ts';
import {
  exportRef,
  keepChunksOf,
  removeExpiredExports,
  writeExportFile,
  type ExportFileDeps,
} from '../../../platform/export-files/export-file.ts';
import { noteExportError } from '../../../platform/export-files/export-queries.ts';
import { newId } from '../../../platform/ids.ts';
import { isOverLimits } from '../../../platform/clickhouse/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import { readAsked } from '../ask.ts';
import type { Question } from '../insight-queries.ts';
import type { Statement } from '../kind.ts';
import { kindOf } from '../kinds.ts';
import type { InsightRunner } from '../runner.ts';
import { csvOf, figureRows } from './csv.ts';
import { figuresParquet, playersFile, readSize } from './file-queries.ts';
import {
  concludeExport,
  failAbandoned,
  INSIGHT_EXPORTS,
  selectQueued,
  type InsightExportRow,
} from './queries.ts';

/** Makes an export of figures or players. */
export const INSIGHT_EXPORT_TASK = 'insight-export';

/** How often the task is tried. */
export const MAX_ATTEMPTS = 8;
/** All attempts are over by then. */
const ABANDONED_MS = 6 * 3_600_000;
/** How long a file is kept after it was made. */
export const KEPT_MS = 86_400_000;
/** Players in a file. */
export const MAX_EXPORT_ROWS = 5_000_000;

/** What the job needs; the runner gives figures within the budget of the tenant. */
export interface InsightExportDeps extends ExportFileDeps, Pick<Platform, 'clickhouse' | 'clock' | 'logger'> {
  runner: InsightRunner;
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
  await keepChunksOf(postgres, INSIGHT_EXPORTS, ref, null);
  let made: Pick<InsightExportRow, 'status' | 'run_id' | 'rows' | 'bytes' | 'chunks' | 'last_error'>;
  try {
    const written = await writeFile(deps, row, run_id, stop);
    if (written === undefined) return;
    made = { ...written, status: 'ready', run_id, last_error: null };
  } catch (error) {
    if (!(error instanceof ApiError && FINAL.has(error.code))) {
      const message =
        error instanceof ApiError ? error.message : 'an attempt failed; the log of the service says why';
      if (!stop.aborted) await noteExportError(postgres.service, INSIGHT_EXPORTS, ref, message);
      throw error;
    }
    made = { status: 'failed', run_id: null, rows: 0n, bytes: 0n, chunks: 0, last_error: error.message };
  }
  const now_ms = clock.now_ms();
  const times = { completed_at: new Date(now_ms), expires_at: new Date(now_ms + KEPT_MS) };
  const is_kept = await concludeExport(postgres.service, ref, { ...made, ...times });
  await keepChunksOf(postgres, INSIGHT_EXPORTS, ref, is_kept ? made.run_id : null);
}

/** Undefined: the export was removed meanwhile. */
async function writeFile(
  deps: InsightExportDeps,
  row: InsightExportRow,
  run_id: string,
  stop: AbortSignal,
): Promise<Pick<InsightExportRow, 'rows' | 'bytes' | 'chunks'> | undefined> {
  const { rows, file } = await (row.cell === null ? figures(deps, row) : players(deps, row));
  const written = await writeExportFile(deps, INSIGHT_EXPORTS, row, run_id, { file, stop });
  return written === undefined ? undefined : { ...written, rows: BigInt(rows) };
}

interface Made {
  rows: number;
  file: AsyncIterable<Uint8Array>;
}

/** The rows of the figures, and of a breakdown what its groups leave of each interval: together they add up to the totals. */
async function figures(
  deps: InsightExportDeps,
  { query, format, ...project }: InsightExportRow,
): Promise<Made> {
  const { tenant_id, project_id } = project;
  const ref = { tenant_id, project_id };
  const { scope } = await readAsked(deps, ref, query);
  const plan = kindOf(query).plan(query, scope);
  const found = plan.read(await deps.runner.run(deps.clickhouse, ref, plan.statements));
  const { columns, rows } = figureRows(found);
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
  deps: Pick<Platform, 'postgres' | 'clock'>,
  stop?: AbortSignal,
): Promise<void> {
  const now_ms = deps.clock.now_ms();
  await failAbandoned(deps.postgres.service, new Date(now_ms - ABANDONED_MS), new Date(now_ms));
  await removeExpiredExports(deps, INSIGHT_EXPORTS, stop);
}
