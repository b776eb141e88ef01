import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, createClient, each, type ClientOptions } from '../../clients/js/src/admin.ts';
import type { LetterResource } from '../../src/ingest/dead-letters/schema.ts';
import { identityOf } from './identity.ts';
import type { ImportState } from './journal.ts';
import { readLines } from './lines.ts';

const POLL_MS = 500;
const MAX_POLLS = 240;
/** Letters that are looked at; a project with more has another problem than this file. */
const MAX_LETTERS = 10_000;

/** An event that was accepted and could not be applied. */
export interface Letter {
  reason: string;
  message: string;
  event: string;
  /** The ids of its properties, such as bet_id. */
  ids: string;
  /** The first and the last line of its batch. */
  lines: [number, number];
}

/**
 * The dead letters of the accepted events of an import, once the fold has passed its last event (or after two minutes:
 * `is_late`). `client` has the session of an admin of the project. Rejects with the client's ApiError.
 */
export async function findLetters(
  client: ClientOptions,
  { last_event, started_at }: Pick<ImportState, 'last_event' | 'started_at'>,
  verdicts_file: string,
): Promise<{ letters: Letter[]; is_late: boolean }> {
  if (last_event === null) return { letters: [], is_late: false };
  const api = createClient(client);
  let polls = 0;
  const isFolded = async () => {
    const trace = await api.eventTrace
      .get(last_event.ingestion_id, String(last_event.index))
      .catch((error: unknown) => {
        // At a high rate an event that is not in ClickHouse yet is not found among the latest of the log.
        if (error instanceof ApiError && error.code === 'EVENT_NOT_FOUND') return undefined;
        throw error;
      });
    return trace !== undefined && trace.folded.status !== 'pending';
  };
  while (!(await isFolded()) && ++polls < MAX_POLLS) await sleep(POLL_MS);
  const found = new Map<string, LetterResource[]>();
  let count = 0;
  for await (const letter of each((page) => api.deadLetters.list({ ...page, limit: 200 }))) {
    if (letter.at < started_at || ++count > MAX_LETTERS) break;
    const id = /^\{"ingestion_id":"([^"]+)"/.exec(letter.value)?.[1] ?? '';
    found.set(id, [...(found.get(id) ?? []), letter]);
  }
  return { letters: await ofImport(found, verdicts_file), is_late: polls >= MAX_POLLS };
}

/** Those whose ingestion id is one of the verdicts, in the order of the file. */
async function ofImport(
  found: ReadonlyMap<string, readonly LetterResource[]>,
  file: string,
): Promise<Letter[]> {
  const letters: Letter[] = [];
  if (found.size === 0) return letters;
  const { size } = await identityOf(file);
  for await (const part of readLines(file, { offset: 0, line: 1 }, size)) {
    for (const { bytes } of part) {
      const verdict = JSON.parse(bytes?.toString() ?? '{}') as {
        ingestion_ids?: string[];
        lines?: [number, number];
      };
      const { ingestion_ids = [], lines = [0, 0] } = verdict;
      for (const id of ingestion_ids)
        letters.push(...(found.get(id) ?? []).map((letter) => describe(letter, lines)));
    }
  }
  return letters;
}

function describe({ reason, message, value }: LetterResource, lines: [number, number]): Letter {
  let event: { event?: string; properties?: Record<string, unknown> } = {};
  try {
    event = (JSON.parse(value) as { event: typeof event }).event;
  } catch {
    // A letter may have only the beginning of its record.
  }
  const ids = ['bet_id', 'transaction_id', 'movement_id', 'reversal_id', 'dedupe_id'].flatMap((name) => {
    const id = event.properties?.[name];
    return typeof id === 'string' ? [`${name} ${id}`] : [];
  });
  return { reason, message, event: event.event ?? '', ids: ids.join(', '), lines };
}
