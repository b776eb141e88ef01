import type { DeadLetter } from '../events/envelope.ts';
import { validationError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import { positionKey, readReplays } from './queries.ts';
import { newScan, scanLetters, type ScanState } from './scan.ts';
import type { LetterResource, ListLettersQuery, ReplayState } from './schema.ts';

type Engines = Pick<Platform, 'eventLog' | 'postgres'>;

/**
 * Limits of one page in addition to the caller's `limit`: a letter may have 2 MB, and a filter may match few letters. A page
 * that reaches one of them ends early, with a cursor that continues after it.
 */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_SCANNED = 20_000;

export interface LetterPage {
  letters: LetterResource[];
  /** Null when there are no more. */
  next_cursor: string | null;
}

/**
 * A page of dead letters, the oldest first, each once. Rejects with VALIDATION_ERROR when `after` is not a cursor of
 * this list.
 */
export async function listLetters(
  { eventLog, postgres }: Engines,
  { limit, after, reason }: ListLettersQuery,
): Promise<LetterPage> {
  const state = after === undefined ? newScan() : decodeScan(after);
  const ends = await eventLog.endOffsets(TOPICS.deadLetters);
  const found: DeadLetter[] = [];
  let scanned = 0;
  let bytes = 0;
  let more = false;
  for await (const letter of scanLetters(eventLog, state, ends)) {
    if (letter !== undefined && (reason === undefined || letter.reason === reason)) {
      found.push(letter);
      bytes += letter.value.length;
    }
    more = found.length >= limit || bytes >= MAX_PAGE_BYTES || ++scanned >= MAX_SCANNED;
    if (more) break;
  }
  const isEnd = [...ends].every(([partition, end]) => (state.next.get(partition) ?? 0n) >= end);
  const replays = await readReplays(postgres.service, found);
  const letters = found.map((letter) => letterResourceOf(letter, replays));
  return { letters, next_cursor: more && !isEnd ? encodeScan(state) : null };
}

/** A letter as the API shows it; `replays` is what {@link readReplays} has found. */
export function letterResourceOf(
  { at_ms, ...letter }: DeadLetter,
  replays: ReadonlyMap<string, ReplayState>,
): LetterResource {
  const at = new Date(at_ms).toISOString();
  return { ...letter, at, replay: replays.get(positionKey(letter)) ?? 'none' };
}

function encodeScan({ next, highest }: ScanState): string {
  const pairs = <K>(map: Map<K, bigint>) => [...map].map(([key, value]) => [key, String(value)]);
  return Buffer.from(JSON.stringify([pairs(next), pairs(highest)])).toString('base64url');
}

function decodeScan(cursor: string): ScanState {
  try {
    const [next, highest] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [
      [number, string][],
      [string, string][],
    ];
    return {
      next: new Map(next.map(([partition, offset]) => [partition, BigInt(offset)])),
      highest: new Map(highest.map(([stream, offset]) => [stream, BigInt(offset)])),
    };
  } catch {
    throw validationError([{ path: 'after', message: 'is not a cursor of this list: omit it' }]);
  }
}
