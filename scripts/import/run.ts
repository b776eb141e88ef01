import type { ClientOptions } from '../../clients/js/src/admin.ts';
import { inBatches, type Batch } from './batches.ts';
import { identityOf, sha256Of, type FileIdentity } from './identity.ts';
import { Journal, type Counts, type ImportState, type Verdict } from './journal.ts';
import type { Position } from './lines.ts';
import { parseMapping, type Mapping } from './mapping-schema.ts';
import { compileMapping, type Mapper } from './mapping.ts';
import { Pace } from './pace.ts';
import { readHeader, readRecords, type FileFormat, type FileRecord } from './records.ts';
import { ImportError } from './refusal.ts';
import { Sender, type Answered, type Retry } from './sender.ts';

/** When the state is written: after so many batches, or so much time. A run that is killed sends at most these lines again. */
const COMMIT_BATCHES = 20;
const COMMIT_EVERY_MS = 1_000;
/** Digits of the hash of a file that begin the ids which are derived from its line numbers. */
const SOURCE_DIGITS = 16;

/** A file that can be read by a mapping. */
export interface Source {
  file: string;
  identity: FileIdentity;
  /** Begins the ids that are derived from line numbers. */
  name: string;
  map: Mapper;
  /** Where the first record begins. */
  first: Position;
  records(from: Position): AsyncIterable<readonly FileRecord[]>;
}

/** Reads the header of `file` and compiles the mapping for it. Rejects with ImportError. */
export async function openSource(file: string, mapping_json: string, name?: string): Promise<Source> {
  const mapping = parseMapping(mapping_json);
  const identity = await identityOf(file);
  const format = formatOf(mapping, file);
  const { columns, first } = await readHeader(file, format, identity.size);
  const source = name ?? identity.sha256.slice(0, SOURCE_DIGITS);
  return {
    file,
    identity,
    name: source,
    map: compileMapping(mapping, { columns, source }),
    first,
    records: (from) => readRecords(file, format, columns, from, identity.size),
  };
}

function formatOf({ format, csv }: Mapping, file: string): FileFormat {
  const by_name = /\.(ndjson|jsonl)$/i.test(file) ? 'ndjson' : 'csv';
  if ((format ?? by_name) === 'ndjson') return { kind: 'ndjson' };
  return {
    kind: 'csv',
    delimiter: csv?.delimiter ?? ',',
    quote: csv === undefined ? '"' : csv.quote,
    columns: csv?.columns,
  };
}

export interface RunOptions {
  client: ClientOptions & { ingest_url: string; token: string };
  mapping_json: string;
  state_file: string;
  verdicts_file: string;
  /** Events per second at most; Infinity: no limit but the answers. */
  per_second: number;
  /** Batches that may wait for an answer at the same time. */
  in_flight: number;
  /** How often a batch is sent before the import stops. */
  attempts: number;
  stop: AbortSignal;
  /** After each batch: the state, and the events per second that the pace allows. */
  onProgress: (state: Readonly<ImportState>, pace: Pace) => void;
  onRetry: (retry: Retry) => void;
  now_ms?: () => number;
}

/**
 * Imports what the state does not have yet, and resolves with the state at the end of the file. Rejects with ImportError, or
 * with the reason of `stop`; the state then has everything that was answered, and another run goes on from there.
 */
export async function runImport(source: Source, options: RunOptions): Promise<Readonly<ImportState>> {
  const { mapping_json, client } = options;
  const paths = { state: options.state_file, verdicts: options.verdicts_file };
  const of = {
    file: source.identity.sha256,
    mapping: sha256Of(mapping_json),
    target: sha256Of(client.ingest_url, client.token),
    source: source.name,
  };
  const journal = await Journal.open(paths, of, source.first, (options.now_ms ?? Date.now)());
  try {
    if (!journal.state.is_done) await sendRest(source, journal, options);
  } finally {
    await journal.close();
  }
  return journal.state;
}

async function sendRest(source: Source, journal: Journal, options: RunOptions): Promise<void> {
  const { per_second, in_flight, attempts, onRetry, onProgress } = options;
  // Ends the other batches when one has failed.
  const failed = new AbortController();
  const stop = AbortSignal.any([options.stop, failed.signal]);
  const pace = new Pace(per_second);
  const sender = new Sender({ client: options.client, pace, attempts, stop, onRetry });
  /** In the order of the file, so that the state is a position: everything before it was answered. */
  const waiting: { batch: Batch; answer: Promise<Answered> }[] = [];
  let committed_ms = performance.now();
  let uncommitted = 0;
  const settleFirst = async () => {
    const first = waiting.shift();
    if (first === undefined) return;
    note(journal, first.batch, await first.answer);
    onProgress(journal.state, pace);
    if (++uncommitted < COMMIT_BATCHES && performance.now() - committed_ms < COMMIT_EVERY_MS) return;
    await journal.commit();
    [uncommitted, committed_ms] = [0, performance.now()];
  };
  try {
    onProgress(journal.state, pace);
    for await (const batch of inBatches(source.records(journal.state.position), source.map)) {
      const answer = sender.send(batch.events);
      // It is awaited later.
      answer.catch(() => undefined);
      waiting.push({ batch, answer });
      if (waiting.length >= in_flight) await settleFirst();
    }
    while (waiting.length > 0) await settleFirst();
    await refuseChanged(source);
    await journal.commit(true);
  } catch (error) {
    failed.abort(error);
    // What was answered before is kept; the rest is sent again, which its ids make harmless.
    await Promise.allSettled(waiting.map(({ answer }) => answer));
    await journal.commit();
    throw options.stop.aborted ? options.stop.reason : error;
  }
}

/** The lines that were read belong to a file that is no more. */
async function refuseChanged({ file, identity }: Source): Promise<void> {
  const { sha256 } = await identityOf(file);
  if (sha256 !== identity.sha256) throw new ImportError(`${file} changed while it was imported`);
}

/** Notes what became of each line of a batch. */
function note(journal: Journal, batch: Batch, { accepted, refused, ingestion_ids, last }: Answered): void {
  const refused_lines = new Set([...batch.refused, ...refused].map(({ line }) => line));
  const counts: Counts = {
    lines: batch.lines,
    accepted: batch.lines - refused_lines.size - batch.skipped.length,
    refused: refused_lines.size,
    skipped: batch.skipped.length,
    events: accepted,
  };
  const verdicts: Verdict[] = [
    ...batch.refused.map((one) => ({ ...one, verdict: 'refused' as const })),
    ...refused.map((one) => ({ ...one, verdict: 'refused' as const })),
    ...batch.skipped.map((line) => ({ line, verdict: 'skipped' as const })),
  ];
  if (accepted > 0) {
    const lines: [number, number] = [batch.first_line, batch.last_line];
    verdicts.push({ lines, verdict: 'accepted', events: accepted, ingestion_ids });
  }
  journal.note(batch.next, counts, verdicts, last);
}
