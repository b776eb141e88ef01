import type { DeadLetter } from '../events/envelope.ts';
import { validationError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { isUuid } from '../../platform/ids.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { letterResourceOf, type LetterPage } from './list.ts';
import { NewestFirst, type BackState } from './newest-first.ts';
import { positionKey, readReplays } from './queries.ts';
import { isIncomplete, newReport, noteIncomplete, replayBlock } from './replay.ts';
import type { ListOwnQuery, OwnReplayBody, OwnReplayReport } from './own-schema.ts';

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clock'>;

/** What one call reads of the topic, which has the letters of every project. A page that reaches it ends early. */
const MAX_SCANNED = 20_000;
const MAX_SCANNED_CHARS = 64 * 1024 * 1024;
/** After this long a page ends early, too: reading back takes a call of the log for each hundred records. */
const MAX_MS = 5_000;
/** Records that the count looks at: one page of each partition. */
const MAX_COUNTED = 500;
/** What one call returns or replays. */
const MAX_FOUND_CHARS = 4 * 1024 * 1024;

/**
 * A page of the dead letters of a project, the newest first, each once. `next_cursor` is there while older records are to
 * be read; the page before may be empty then. Rejects with VALIDATION_ERROR when `cursor` is not one of this list.
 */
export async function listOwnLetters(
  { eventLog, postgres }: Engines,
  project: ProjectRef,
  { limit, cursor, reason }: ListOwnQuery,
): Promise<LetterPage> {
  const { found, next_cursor } = await readOwn(eventLog, project, cursor, limit, (one) =>
    reason === undefined ? true : one.reason === reason,
  );
  const replays = await readReplays(postgres.service, found);
  return { letters: found.map((letter) => letterResourceOf(letter, replays)), next_cursor };
}

/**
 * Sends dead letters of a project through the fold again: named ones, or those of one page that were not replayed before.
 * It reads as much of the topic as a page of the list; with `next_cursor` the caller goes on. Letters of other projects are
 * not found.
 */
export async function replayOwnLetters(
  engines: Engines,
  project: ProjectRef,
  body: OwnReplayBody,
  audit: AuditChange,
): Promise<OwnReplayReport> {
  const report = newReport();
  const wanted = 'letters' in body ? new Set(body.letters.map(positionKey)) : undefined;
  const reason = 'letters' in body ? undefined : body.reason;
  const limit = wanted?.size ?? 200;
  const { found, next_cursor } = await readOwn(engines.eventLog, project, body.cursor, limit, (letter) =>
    wanted === undefined ? reason === undefined || letter.reason === reason : wanted.has(positionKey(letter)),
  );
  const whole = found.filter((letter) => {
    wanted?.delete(positionKey(letter));
    if (isIncomplete(letter)) noteIncomplete(report, letter);
    return !isIncomplete(letter);
  });
  // In the order in which they were rejected.
  await replayBlock(engines, whole.toReversed(), body.force, report, { audit, project });
  report.not_found = [...(wanted ?? [])].map((key) => {
    const [partition = '', offset = ''] = key.split(':');
    return { partition: Number(partition), offset };
  });
  const is_done = wanted !== undefined && wanted.size === 0;
  return { ...report, next_cursor: is_done ? null : next_cursor };
}

/** The letter of the record at this position on `events`, of a project; undefined when it is not among the last ones. */
export async function findOwnLetter(
  eventLog: Engines['eventLog'],
  project: ProjectRef,
  position: { partition: number; offset: string },
): Promise<DeadLetter | undefined> {
  const key = positionKey(position);
  const isIt = (letter: DeadLetter) => positionKey(letter) === key;
  return (await readOwn(eventLog, project, undefined, 1, isIt)).found[0];
}

/** The letters of a project among the newest records of the topic; `is_all`: there are no older records. */
export async function countRecentLetters(
  eventLog: Engines['eventLog'],
  project: ProjectRef,
): Promise<{ found: number; is_all: boolean; newest_at: string | null }> {
  const { found, next_cursor } = await readOwn(
    eventLog,
    project,
    undefined,
    MAX_COUNTED,
    () => true,
    MAX_COUNTED,
  );
  const newest_at = found[0] === undefined ? null : new Date(found[0].at_ms).toISOString();
  return { found: found.length, is_all: next_cursor === null, newest_at };
}

async function readOwn(
  eventLog: Engines['eventLog'],
  project: ProjectRef,
  cursor: string | undefined,
  limit: number,
  isWanted: (letter: DeadLetter) => boolean,
  max_scanned = MAX_SCANNED,
): Promise<{ found: DeadLetter[]; next_cursor: string | null }> {
  const reader = new NewestFirst(eventLog, cursor === undefined ? undefined : decodeState(cursor, project));
  const found: DeadLetter[] = [];
  const until_ms = performance.now() + MAX_MS;
  let [scanned, scanned_chars, found_chars] = [0, 0, 0];
  for (;;) {
    const next = await reader.next();
    if (next === undefined) return { found, next_cursor: null };
    const { letter, size } = next;
    scanned_chars += size;
    if (letter !== undefined && isOwn(letter, project) && isWanted(letter)) {
      found.push(letter);
      found_chars += letter.value.length;
    }
    const is_full = found.length >= limit || found_chars >= MAX_FOUND_CHARS;
    const is_much = ++scanned >= max_scanned || scanned_chars >= MAX_SCANNED_CHARS;
    if (is_full || is_much || performance.now() > until_ms)
      return { found, next_cursor: encodeState(reader.state, project) };
  }
}

const HEAD =
  /^\{"ingestion_id":"[^"]{36}","index":\d{1,4},"tenant_id":"([^"]{36})","project_id":"([^"]{36})",/;

/** Whether the rejected record names this project. One that cannot be read belongs to nobody. */
function isOwn({ value }: DeadLetter, { tenant_id, project_id }: ProjectRef): boolean {
  if (!value.includes(project_id)) return false;
  const head = HEAD.exec(value);
  if (head !== null) return head[1] === tenant_id && head[2] === project_id;
  try {
    const record = JSON.parse(value) as { tenant_id?: unknown; project_id?: unknown } | null;
    return record?.tenant_id === tenant_id && record.project_id === project_id;
  } catch {
    return false;
  }
}

/** Bound to the project: the numbers say how many letters others have. */
function encodeState({ before, lowest }: BackState, { project_id }: ProjectRef): string {
  const pairs = <K>(map: Map<K, bigint>) => [...map].map(([key, value]) => [key, String(value)]);
  return Buffer.from(JSON.stringify([project_id, pairs(before), pairs(lowest)])).toString('base64url');
}

function decodeState(cursor: string, { project_id }: ProjectRef): BackState {
  try {
    const [project, before, lowest] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [
      string,
      [number, string][],
      [string, string][],
    ];
    if (project !== project_id || !isUuid(project)) throw new TypeError('of another project');
    return {
      before: new Map(before.map(([partition, offset]) => [partition, offsetOf(offset)])),
      lowest: new Map(lowest.map(([stream, offset]) => [stream, offsetOf(offset)])),
    };
  } catch {
    throw validationError([{ path: 'cursor', message: 'is not a cursor of this list: omit it' }]);
  }
}

function offsetOf(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new TypeError('not an offset');
  return BigInt(text);
}
