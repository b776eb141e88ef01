import type { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { findOwnLetter } from '../../ingest/dead-letters/own-letters.ts';
import { isOfProject, type AcceptedEvent, type DeadLetter } from '../../ingest/events/envelope.ts';
import { readEventIds } from '../../ledger/fold/event-ids-queries.ts';
import { parseRecord, type FoldEvent } from '../../ledger/fold/fold-event.ts';
import { claimOf, type Claim } from '../../ledger/money/ledger.ts';
import { findClaimHolder, findRowOfEvent, type TracedRow } from '../../ledger/money/ledger-queries.ts';
import { GROUPS, TOPICS } from '../../platform/event-log/topics.ts';
import { isUuid } from '../../platform/ids.ts';
import { selectPlayerIds } from '../../players/profile/queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { findAccepted, type PlacedRecord } from './find-in-log.ts';
import { findEvent, selectSegmentsEntered, type EventRef, type EventRow } from './queries.ts';
import type { eventTrace } from './schema.ts';
import { jsonDigits, exactJson, type JsonText } from '../../platform/exact-json.ts';

type Deps = Pick<Platform, 'postgres' | 'clickhouse' | 'eventLog' | 'clock'>;
type Folded = z.infer<typeof eventTrace>['folded'];
/** Amounts have more digits than a JavaScript number. */
type Money = Omit<NonNullable<Folded['money']>, 'amount' | 'payout' | 'base_amount' | 'base_payout'> &
  Record<'amount' | 'payout' | 'base_amount' | 'base_payout', JsonText | null>;

/** Most events are received soon after they occurred: there they are found without reading all of the project's. */
const NEAR_MS = 3_600_000;
/** Later than this after its reception, an event without a trace is no longer on its way. */
const ON_ITS_WAY_MS = 10 * 60_000;
const MAX_SEGMENTS = 50;

interface Trace {
  event: string;
  player_id: string | null;
  received_ms: number;
  folded: Omit<Folded, 'money'>;
  money: Money | null;
  landed: 'done' | 'pending' | 'none' | 'unknown';
}

/**
 * The way of one event as JSON text: accepted, folded, in ClickHouse. What is in ClickHouse is looked up there, the rest on
 * the log around the time in its id. Rejects with EVENT_NOT_FOUND.
 */
export async function traceEvent(
  deps: Deps,
  { tenant_id, project_id }: ProjectRef,
  params: { ingestion_id: string; index: string },
): Promise<string> {
  const ref = refOf({ tenant_id, project_id }, params);
  const trace = (await traceLanded(deps, ref)) ?? (await traceOnLog(deps, ref));
  const segments = await segmentsEntered(deps, ref, trace);
  const { event, player_id, received_ms, folded, money, landed } = trace;
  return exactJson({
    ingestion_id: ref.ingestion_id,
    index: ref.event_index,
    event,
    player_id,
    accepted: { status: 'done', at: new Date(received_ms).toISOString() },
    folded: { money, ...folded },
    landed: { status: landed },
    segments_entered_since: segments,
  });
}

function refOf(
  project: ProjectRef,
  { ingestion_id, index }: { ingestion_id: string; index: string },
): EventRef {
  if (!isUuid(ingestion_id) || !/^\d{1,3}$/.test(index)) throw notFound(ingestion_id, index);
  return { ...project, ingestion_id: ingestion_id.toLowerCase(), event_index: Number(index) };
}

function notFound(ingestion_id: string, index: string | number): ApiError {
  return new ApiError(
    'EVENT_NOT_FOUND',
    `event ${ingestion_id.slice(0, 64)}/${String(index).slice(0, 8)} does not exist`,
  );
}

/** When the id was made: it begins with milliseconds since the epoch. */
function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

async function traceLanded({ clickhouse, postgres }: Deps, ref: EventRef): Promise<Trace | undefined> {
  const at_ms = timeOfId(ref.ingestion_id);
  const near = { from_ms: at_ms - NEAR_MS, to_ms: at_ms + NEAR_MS };
  const row = (await findEvent(clickhouse, ref, near)) ?? (await findEvent(clickhouse, ref));
  if (row === undefined) return undefined;
  const claim = claimOfRow(row);
  const [made] =
    claim === undefined
      ? []
      : await findRowOfEvent(postgres.service, { ...ref, reference: claim.reference }, ref);
  return {
    event: row.event,
    player_id: row.owner,
    received_ms: Number(row.received_ms),
    folded: verdictOf('applied'),
    money: made === undefined || claim === undefined ? null : moneyOf(claim, made),
    landed: 'done',
  };
}

function claimOfRow({ event, properties, occurred_ms }: EventRow): Claim | undefined {
  const given = JSON.parse(properties === '' ? '{}' : properties) as Record<string, unknown>;
  return claimOf(event, given, Number(occurred_ms));
}

/** The trace of an event that ClickHouse does not have. */
async function traceOnLog({ eventLog, postgres, clock }: Deps, ref: EventRef): Promise<Trace> {
  const received_ms = timeOfId(ref.ingestion_id);
  // An id of another kind has no time, or one that is still to come: the log has no such event.
  const is_near = received_ms < clock.now_ms() + ON_ITS_WAY_MS;
  const record = is_near ? await findAccepted(eventLog, ref, received_ms) : undefined;
  if (record === undefined || !isOfProject(record.value, ref)) {
    throw notFound(ref.ingestion_id, ref.event_index);
  }
  const accepted = JSON.parse(record.value) as AcceptedEvent;
  const base = {
    event: accepted.event.event,
    player_id: accepted.event.player_id?.toLowerCase() ?? null,
    received_ms: accepted.received_at_ms,
    money: null,
  };
  if (!(await isFolded(eventLog, record)))
    return { ...base, folded: { ...verdictOf(null), status: 'pending' }, landed: 'pending' };
  const { partition, offset } = record;
  const letter = await findOwnLetter(eventLog, ref, { partition, offset: String(offset) });
  const is_duplicate = letter?.reason === 'DUPLICATE_DIFFERS';
  if (letter !== undefined && !is_duplicate) return { ...base, folded: rejectedBy(letter), landed: 'none' };
  const parsed = parseRecord(record);
  const claim = 'event' in parsed ? parsed.event.claim : undefined;
  const [holder] = claim === undefined ? [] : await findClaimHolder(postgres.service, { ...ref, ...claim });
  if (claim !== undefined && holder !== undefined) {
    const { folded, ...rest } = ofClaim(ref, claim, holder);
    const { reason, message } = is_duplicate ? letter : folded;
    return { ...base, ...rest, folded: { ...folded, reason, message } };
  }
  if ('event' in parsed && (await isRepeated(postgres.service, ref, parsed.event, record)))
    return { ...base, folded: verdictOf('duplicate'), landed: 'none' };
  // Nothing says what came of another event without money, but that it is in ClickHouse soon when it was applied.
  const is_late = clock.now_ms() - accepted.received_at_ms > ON_ITS_WAY_MS;
  if (is_late) return { ...base, folded: { ...verdictOf(null), status: 'unknown' }, landed: 'unknown' };
  return { ...base, folded: verdictOf('applied'), landed: 'pending' };
}

/** Whether another record claimed the event's `dedupe_id`. */
async function isRepeated(
  sql: Deps['postgres']['service'],
  { tenant_id, project_id }: ProjectRef,
  { event_key }: FoldEvent,
  { partition, offset }: PlacedRecord,
): Promise<boolean> {
  if (event_key === undefined) return false;
  const held = (await readEventIds(sql, [{ tenant_id, project_id, event_key }])).get(event_key);
  return held !== undefined && (held.log_partition !== partition || held.log_offset !== offset);
}

async function isFolded(eventLog: Deps['eventLog'], { partition, offset }: PlacedRecord): Promise<boolean> {
  const lag = await eventLog.lag(TOPICS.events, GROUPS.fold);
  return lag.some((one) => one.partition === partition && one.next_offset > offset);
}

function ofClaim(ref: EventRef, claim: Claim, holder: TracedRow): Pick<Trace, 'folded' | 'money' | 'landed'> {
  const { ingestion_id, event_index: index } = holder;
  const money = moneyOf(claim, holder);
  if (ingestion_id === ref.ingestion_id && index === ref.event_index)
    return { folded: verdictOf('applied'), money, landed: 'pending' };
  const duplicate_of = { ingestion_id, index };
  return { folded: { ...verdictOf('duplicate'), duplicate_of }, money, landed: 'none' };
}

function verdictOf(verdict: Folded['verdict']): Trace['folded'] {
  return { status: 'done', verdict, reason: null, message: null, duplicate_of: null };
}

function rejectedBy({ reason, message }: DeadLetter): Trace['folded'] {
  const verdict = reason === 'CONFLICTING_DUPLICATE' ? 'conflicting' : 'rejected';
  return { ...verdictOf(verdict), reason, message };
}

function moneyOf({ reference }: Claim, row: TracedRow): Money {
  const { currency, rate, rate_ts_ms, rate_is_inverse } = row;
  return {
    reference,
    currency,
    rate,
    rate_at: rate_ts_ms === null ? null : new Date(Number(rate_ts_ms)).toISOString(),
    rate_is_inverse,
    amount: jsonDigits(row.amount),
    payout: jsonDigits(row.payout),
    base_amount: jsonDigits(row.base_amount),
    base_payout: jsonDigits(row.base_payout),
  };
}

async function segmentsEntered({ postgres }: Deps, ref: EventRef, { player_id, received_ms }: Trace) {
  if (player_id === null) return [];
  const { tenant_id, project_id } = ref;
  const [found] = await postgres.readAsTenant(tenant_id, (tx) =>
    selectPlayerIds(tx, { tenant_id, project_id, player_id }),
  );
  if (found === undefined) return [];
  const player = { tenant_id, project_id, player_id: found.player_id };
  const rows = await postgres.readAsTenant(tenant_id, (tx) =>
    selectSegmentsEntered(tx, player, received_ms, MAX_SEGMENTS),
  );
  return rows.map(({ entered_at, ...segment }) => ({ ...segment, entered_at: entered_at.toISOString() }));
}
