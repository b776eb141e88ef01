import type { EventBody } from '../../src/ingest/events/validate.ts';
import { MAX_BATCH_EVENTS } from '../../src/ingest/events/catalogue.ts';
import { LARGE_BODY_BYTES } from '../../src/http/server-options.ts';
import { exactJson } from '../../src/platform/exact-json.ts';
import type { Position } from './lines.ts';
import type { Mapper } from './mapping.ts';
import type { FileRecord } from './records.ts';
import type { Refusal } from './refusal.ts';

const EMPTY_BATCH = '{"events":[]}'.length;
/** Lines of one batch, which most lines of a file may have no event for. */
const MAX_BATCH_LINES = 1_000;

/** An event as it is sent, and the line it was made of. */
export interface BatchEvent {
  line: number;
  event: string;
  json: string;
}

/** What becomes of consecutive lines, and the events to send for them. */
export interface Batch {
  first_line: number;
  last_line: number;
  /** Where the next batch begins. */
  next: Position;
  lines: number;
  refused: (Refusal & { line: number })[];
  skipped: number[];
  events: BatchEvent[];
}

/** Maps records and divides them into batches that one request may have. The events of a line are in one batch. */
export async function* inBatches(
  records: AsyncIterable<readonly FileRecord[]>,
  map: Mapper,
): AsyncGenerator<Batch> {
  let batch: Batch | undefined;
  let bytes = EMPTY_BATCH;
  for await (const part of records) {
    for (const record of part) {
      const { events, refusal } = map(record);
      const encoded = events?.map((event) => encode(record.line, event)) ?? [];
      const size = encoded.reduce((sum, { json }) => sum + Buffer.byteLength(json) + 1, 0);
      if (batch !== undefined && isFull(batch, encoded.length, bytes + size)) {
        yield batch;
        batch = undefined;
        bytes = EMPTY_BATCH;
      }
      batch ??= emptyBatch(record.line);
      bytes += size;
      add(batch, record, encoded, refusal);
    }
  }
  if (batch !== undefined) yield batch;
}

function encode(line: number, event: EventBody): BatchEvent {
  return { line, event: event.event, json: exactJson(event) };
}

function emptyBatch(line: number): Batch {
  const next = { offset: 0, line };
  return { first_line: line, last_line: line, next, lines: 0, refused: [], skipped: [], events: [] };
}

function isFull({ lines, events }: Batch, more: number, bytes: number): boolean {
  return lines >= MAX_BATCH_LINES || events.length + more > MAX_BATCH_EVENTS || bytes > LARGE_BODY_BYTES;
}

function add(
  batch: Batch,
  { line, end, next_line }: FileRecord,
  events: readonly BatchEvent[],
  refusal: Refusal | undefined,
): void {
  batch.last_line = next_line - 1;
  batch.next = { offset: end, line: next_line };
  batch.lines += 1;
  if (refusal !== undefined) batch.refused.push({ line, ...refusal });
  else if (events.length === 0) batch.skipped.push(line);
  else batch.events.push(...events);
}
