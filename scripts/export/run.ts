import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isOfTime, type ExportedTable } from '../../src/analytics/export/tables.ts';
import { callInternal, downloadInternal, type InternalApi } from '../service-api.ts';
import type { Day } from './days.ts';

/** Where parts are written before they are whole; readers that search `<out>/<project>/<table>` do not see it. */
const UNFINISHED = '.unfinished';
/** Names of files of a day that was not over when it was exported. */
const EARLY = /\.until-\d{8}T\d{6}Z\.parquet$/;
const MAGIC = 'PAR1';

export interface ExportOptions {
  api: InternalApi;
  tenant_id: string;
  project_ids: readonly string[];
  tables: readonly ExportedTable[];
  /** For tables with a time. */
  days: readonly Day[];
  out: string;
  /** Also days that were exported before. */
  again: boolean;
  now_ms: number;
  stop: AbortSignal;
  /** After each part; `is_kept`: it was there already. */
  onPart: (part: { folder: string; rows: number; files: number; is_kept: boolean }) => void;
}

/** What is exported into one folder. */
interface Part {
  project_id: string;
  table: ExportedTable;
  folder: string;
  /** Absent: the table as it is now. */
  day?: Day;
}

/** The parts of an export, in order: a day of a table, or a table as it is now. */
export function partsOf({
  project_ids,
  tables,
  days,
  now_ms,
}: Pick<ExportOptions, 'project_ids' | 'tables' | 'days' | 'now_ms'>): Part[] {
  const snapshot = `snapshot=${stamp(now_ms)}`;
  return project_ids.flatMap((project_id) =>
    tables.flatMap((table) =>
      isOfTime(table)
        ? days.map((day) => ({
            project_id,
            table,
            day,
            folder: join(project_id, table, `date=${day.date}`),
          }))
        : [{ project_id, table, folder: join(project_id, table, snapshot) }],
    ),
  );
}

/**
 * Exports every part that is not there yet. A part is written elsewhere and moved to its folder when all of its files are
 * whole, so a run that was stopped or killed leaves only whole parts, and the same command goes on with the next. Rejects with
 * `CallFailed`, the connection's error, or the reason of `stop`.
 */
export async function runExport(options: ExportOptions): Promise<void> {
  const { out, again, now_ms, stop, onPart } = options;
  await rm(join(out, UNFINISHED), { recursive: true, force: true });
  try {
    for (const part of partsOf(options)) {
      stop.throwIfAborted();
      const { folder, day } = part;
      if (!again && day !== undefined && (await isWhole(join(out, folder)))) {
        onPart({ folder, rows: 0, files: 0, is_kept: true });
        continue;
      }
      const is_early = day !== undefined && Date.parse(day.to) > now_ms;
      const unfinished = join(out, UNFINISHED, folder);
      await mkdir(unfinished, { recursive: true, mode: 0o700 });
      const written = await writePart(options, part, unfinished, is_early ? `.until-${stamp(now_ms)}` : '');
      await moveTo(join(out, folder), unfinished, join(out, UNFINISHED, 'replaced'));
      onPart({ folder, ...written, is_kept: false });
    }
  } finally {
    await rm(join(out, UNFINISHED), { recursive: true, force: true });
  }
}

/** Whether a folder has a day that was over when it was exported. */
async function isWhole(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.length > 0 && !names.some((name) => EARLY.test(name));
}

async function writePart(
  { api, tenant_id, stop }: ExportOptions,
  { project_id, table, day }: Part,
  folder: string,
  suffix: string,
): Promise<{ rows: number; files: number }> {
  const asked = {
    tenant_id,
    project_id,
    table,
    ...(day === undefined ? {} : { from: day.from, to: day.to }),
  };
  const query = new URLSearchParams(asked).toString();
  const { data } = await callInternal<{ data: { rows: number; files: number } }>(
    api,
    `table-export?${query}`,
    {},
  );
  for (let file = 1; file <= data.files; file++) {
    stop.throwIfAborted();
    const path = join(folder, `part-${String(file).padStart(4, '0')}${suffix}.parquet`);
    await downloadInternal(api, 'table-export', { ...asked, file, files: data.files }, path, stop);
    await checkFile(path);
  }
  return data;
}

/** Parquet begins and ends with the same four bytes; rejects when the file was cut off. */
async function checkFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const ends = await Promise.all(
      [0, Math.max(0, size - MAGIC.length)].map(async (position) => {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, position);
        return buffer.toString('latin1', 0, bytesRead);
      }),
    );
    if (ends.some((end) => end !== MAGIC)) throw new Error(`${path} is not a whole Parquet file`);
  } finally {
    await file.close();
  }
}

/** Moves a folder to its place, and what is there out of the way first. */
async function moveTo(place: string, unfinished: string, replaced: string): Promise<void> {
  await mkdir(join(place, '..'), { recursive: true, mode: 0o700 });
  await rm(replaced, { recursive: true, force: true });
  await rename(place, replaced).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(unfinished, place);
}

/** `20260131T120000Z`. */
function stamp(at_ms: number): string {
  return new Date(at_ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}
