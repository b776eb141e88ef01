import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Verdict } from '../../scripts/import/journal.ts';
import { openSource, runImport, type RunOptions } from '../../scripts/import/run.ts';

/** A folder of its own for the files of one import; the system removes it. */
export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'engagement-import-'));
}

/** Writes a file with this content into a new folder; returns its path. */
export async function fileOf(content: string | Buffer, name = 'history.csv'): Promise<string> {
  const file = join(await newFolder(), name);
  await writeFile(file, content);
  return file;
}

/** Imports a file in this process, without a limit of its rate; resolves with the state. */
export async function importFile(
  file: string,
  mapping: object,
  { ingest_url, api_key }: { ingest_url: string; api_key: string },
  options: Partial<RunOptions> & { source?: string } = {},
) {
  const mapping_json = JSON.stringify(mapping);
  return runImport(await openSource(file, mapping_json, options.source), {
    client: { ingest_url, token: api_key },
    mapping_json,
    state_file: `${file}.import.json`,
    verdicts_file: `${file}.verdicts.ndjson`,
    per_second: Infinity,
    in_flight: 4,
    attempts: 3,
    stop: new AbortController().signal,
    onProgress: () => undefined,
    onRetry: () => undefined,
    ...options,
  });
}

/** The verdicts of a file. */
export async function verdictsOf(file: string): Promise<Verdict[]> {
  const text = await readFile(`${file}.verdicts.ndjson`, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Verdict);
}
