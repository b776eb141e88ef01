import { replayOf, type DeadLetter } from '../events/envelope.ts';
import { ApiError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { LogUnavailable } from '../../platform/event-log/port.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { finishReplays, positionKey, readReplays, selectKnownTenants, startReplays } from './queries.ts';
import { newScan, scanLetters } from './scan.ts';
import { MAX_LISTED, type LetterPosition, type ReplayBody, type ReplayReport } from './schema.ts';

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clock'>;

const MAX_BLOCK = 500;
const MAX_BLOCK_BYTES = 8 * 1024 * 1024;
const RETRY_AFTER_S = 1;

/**
 * Appends the original records of dead letters to `events` again. Letters written after the start are ignored, so a
 * record that fails again does not loop for ever. Rejects with SERVICE_UNAVAILABLE when the log did not confirm
 * an append: the letters of that block then have an unknown outcome. `audit` gets the count of each tenant and block.
 */
export async function replayLetters(
  engines: Engines,
  body: ReplayBody,
  audit: AuditChange,
): Promise<ReplayReport> {
  const { eventLog } = engines;
  const report = newReport();
  const wanted = 'offsets' in body ? new Set(body.offsets.map((offset) => BigInt(offset))) : undefined;
  const ends = await eventLog.endOffsets(TOPICS.deadLetters);
  let block: DeadLetter[] = [];
  let bytes = 0;
  for await (const letter of scanLetters(eventLog, newScan(), ends)) {
    if (letter === undefined || !isWanted(letter, body, wanted)) continue;
    wanted?.delete(BigInt(letter.offset));
    if (isIncomplete(letter)) noteIncomplete(report, letter);
    else {
      block.push(letter);
      bytes += letter.value.length;
    }
    if (block.length >= MAX_BLOCK || bytes >= MAX_BLOCK_BYTES) {
      await replayBlock(engines, block, body.force, report, { audit });
      block = [];
      bytes = 0;
    }
    if (wanted?.size === 0) break;
  }
  await replayBlock(engines, block, body.force, report, { audit });
  if ('offsets' in body && wanted !== undefined) {
    report.not_found = [...wanted].map((offset) => ({ partition: body.partition, offset: String(offset) }));
  }
  return report;
}

/** The report of a replay that has not begun. */
export function newReport(): ReplayReport {
  return {
    replayed: 0,
    replayed_before: 0,
    unknown_outcome: [],
    unknown_outcomes: 0,
    incomplete: [],
    not_found: [],
  };
}

function isWanted(letter: DeadLetter, body: ReplayBody, offsets: Set<bigint> | undefined): boolean {
  return (
    (body.partition === undefined || letter.partition === body.partition) &&
    (body.reason === undefined || letter.reason === body.reason) &&
    (offsets === undefined || offsets.has(BigInt(letter.offset)))
  );
}

/** How a block is recorded: with a row for the project whose letters they are or, without one, for each tenant. */
interface BlockAudit {
  audit: AuditChange;
  project?: ProjectRef;
}

/**
 * Replays one block of at most {@link MAX_BLOCK} letters, and adds what came of it to the report. It is marked before and
 * after the append: after a crash in between, the first mark without the second shows that the record may be on the log or not.
 */
export async function replayBlock(
  { eventLog, postgres, clock }: Engines,
  letters: readonly DeadLetter[],
  force: boolean,
  report: ReplayReport,
  recorded: BlockAudit,
): Promise<void> {
  if (letters.length === 0) return;
  const { service } = postgres;
  const before = await readReplays(service, letters);
  const ours = await service.begin(async (tx) => {
    const started = await startReplays(tx, letters, force, new Date(clock.now_ms()));
    const marked = letters.filter((letter) => started.has(positionKey(letter)));
    await auditReplays(tx, marked, recorded);
    return marked;
  });
  const started = new Set(ours.map(positionKey));
  for (const letter of letters) {
    if (started.has(positionKey(letter))) continue;
    if (before.get(positionKey(letter)) === 'replayed') report.replayed_before++;
    else noteUnknown(report, letter);
  }
  if (ours.length === 0) return;
  try {
    await eventLog.append(TOPICS.events, ours.map(replayOf));
  } catch (cause) {
    if (!(cause instanceof LogUnavailable)) throw cause;
    const message = `the event log did not confirm ${ours.length} records: their outcome is unknown`;
    throw new ApiError('SERVICE_UNAVAILABLE', message, { cause, retry_after_s: RETRY_AFTER_S });
  }
  await finishReplays(service, ours, new Date(clock.now_ms()));
  report.replayed += ours.length;
}

/**
 * Writes one audit row per tenant, with the number of its letters. A letter without a tenant of this installation has
 * none: its record is malformed.
 */
async function auditReplays(
  tx: Tx,
  letters: readonly DeadLetter[],
  { audit, project }: BlockAudit,
): Promise<void> {
  if (project !== undefined) {
    const { tenant_id, project_id } = project;
    if (letters.length === 0) return;
    const after = { replayed: letters.length };
    return audit(tx, { tenant_id, project_id, resource_id: project_id, before: null, after });
  }
  const counts = new Map<string, number>();
  for (const tenant_id of letters.map(tenantOf)) {
    if (tenant_id !== undefined) counts.set(tenant_id, (counts.get(tenant_id) ?? 0) + 1);
  }
  for (const tenant_id of await selectKnownTenants(tx, [...counts.keys()])) {
    const after = { replayed: counts.get(tenant_id) };
    await audit(tx, { tenant_id, project_id: null, resource_id: tenant_id, before: null, after });
  }
}

function tenantOf({ value }: DeadLetter): string | undefined {
  try {
    const { tenant_id } = JSON.parse(value) as { tenant_id?: unknown };
    return typeof tenant_id === 'string' && isUuid(tenant_id) ? tenant_id.toLowerCase() : undefined;
  } catch {
    // Not JSON, or null.
    return undefined;
  }
}

/** Whether the letter has not the whole record. Letters of earlier versions then have nothing of it. */
export function isIncomplete({ value, value_bytes }: DeadLetter): boolean {
  return value_bytes !== undefined || value === '';
}

/** Adds a letter that cannot be replayed to the report. */
export function noteIncomplete({ incomplete }: ReplayReport, { partition, offset }: LetterPosition): void {
  if (incomplete.length < MAX_LISTED) incomplete.push({ partition, offset });
}

function noteUnknown(report: ReplayReport, { partition, offset }: LetterPosition): void {
  report.unknown_outcomes++;
  if (report.unknown_outcome.length < MAX_LISTED) report.unknown_outcome.push({ partition, offset });
}
