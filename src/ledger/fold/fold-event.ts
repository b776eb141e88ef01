import {
  REASONS_OF_DUPLICATES,
  type AcceptedEvent,
  type DeadLetterReason,
} from '../../ingest/events/envelope.ts';
import { dedupeIdOf, mayHaveDedupeId } from '../../ingest/events/dedupe-id.ts';
import { isSentId } from '../../ingest/intake/sent-id.ts';
import { EARLIEST_MS, LATEST_MS, parseTimestamp } from '../../platform/timestamp.ts';
import {
  MAX_ROWS_WITH_MOVEMENTS,
  claimOf,
  sentMoneyOf,
  type Claim,
  type SentMoney,
} from '../money/ledger.ts';
import { parseExact } from '../../platform/exact-json.ts';
import { hash32Of, hashedId, isUuid } from '../../platform/ids.ts';
import { MAX_BATCH_EVENTS, type EventName } from '../../ingest/events/catalogue.ts';
import { isEventName, isIdText } from '../../ingest/events/validate.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { KycKind } from '../../protection/kyc/decide.ts';

/** An accepted event with its record on the log, and with the identity and claim derived from it. */
export interface FoldEvent {
  record: LogRecord;
  accepted: AcceptedEvent;
  /** The event time; the time of receipt where the caller sent none. */
  occurred_at_ms: number;
  properties: Record<string, unknown>;
  identity: Identity;
  /** Undefined for events without money or without transaction_id or bet_id. */
  claim: FoldClaim | undefined;
  /** Names an event without a claim: a UUID. Undefined where repetitions are not looked for. See {@link eventKeyOf}. */
  event_key: string | undefined;
  /** Names an event that its sender named: a UUID that follows from ingestion_id and index. */
  sent_id: string | undefined;
  /** For an event without a claim: its amounts with a currency. */
  money: SentMoney | undefined;
}

/** The id by which an event names its player; player_id takes precedence where both ids are given. */
export interface Identity {
  kind: 'player' | 'anonymous';
  id: string;
  /** Unique across all projects and both kinds. */
  key: string;
}

/** A claim with the keys under which the snapshot has its rows. */
export interface FoldClaim extends Claim {
  reference_key: string;
  /** See {@link LedgerRow}. */
  detail_hash: number;
}

/** A record that the fold rejects, with the reason. */
export interface Rejection {
  record: LogRecord;
  reason: DeadLetterReason;
  message: string;
}

type ParsedRecord = { event: FoldEvent } | { rejection: Rejection };

/**
 * Reads a record of the topic `events`. Intake has validated its own records, but other producers can write to the
 * topic too: a record that is not an accepted event becomes a rejection. Never throws.
 */
export function parseRecord(record: LogRecord): ParsedRecord {
  try {
    return parse(record);
  } catch (error) {
    return malformed(record, String(error));
  }
}

function parse(record: LogRecord): ParsedRecord {
  const accepted = parseExact(record.value) as AcceptedEvent;
  const { event, tenant_id, project_id, ingestion_id, received_at_ms, index } = accepted;
  const { timestamp, properties = {} } = event;
  const sound =
    isEventName(event.event) &&
    isUuid(tenant_id) &&
    isUuid(project_id) &&
    isUuid(ingestion_id) &&
    isStorableTime(received_at_ms) &&
    Number.isInteger(index) &&
    index >= 0 &&
    index < MAX_BATCH_EVENTS &&
    (event.player_id === undefined ? isIdText(event.anonymous_id) : isUuid(event.player_id)) &&
    typeof properties === 'object' &&
    properties !== null &&
    !Array.isArray(properties);
  if (!sound) return malformed(record, 'not an accepted event');
  const occurred_at_ms = timestamp === undefined ? received_at_ms : parseTimestamp(timestamp);
  if (!isStorableTime(occurred_at_ms)) return malformed(record, 'its timestamp is not usable ISO-8601');
  const claim = foldClaimOf(accepted, properties, occurred_at_ms);
  if (claim !== undefined && !isIdText(claim.reference))
    return malformed(record, 'its reference is too long');
  return {
    event: {
      record,
      accepted,
      occurred_at_ms,
      properties,
      identity: identityOf(accepted),
      claim,
      event_key: claim === undefined ? eventKeyOf(accepted, properties) : undefined,
      sent_id: accepted.named === undefined ? undefined : sentIdOfEvent(accepted),
      money: claim === undefined ? sentMoneyOf(properties) : undefined,
    },
  };
}

function isStorableTime(ms: number | undefined): ms is number {
  return Number.isSafeInteger(ms) && ms !== undefined && ms >= EARLIEST_MS && ms <= LATEST_MS;
}

function malformed(record: LogRecord, message: string): ParsedRecord {
  return { rejection: { record, reason: 'MALFORMED_RECORD', message } };
}

function identityOf({ project_id, event }: AcceptedEvent): Identity {
  if (event.player_id !== undefined) {
    const id = event.player_id.toLowerCase();
    return { kind: 'player', id, key: playerIdentityKey(project_id, id) };
  }
  const id = event.anonymous_id ?? '';
  return { kind: 'anonymous', id, key: anonymousIdentityKey(project_id, id) };
}

function foldClaimOf(
  { project_id, event }: AcceptedEvent,
  properties: Record<string, unknown>,
  occurred_at_ms: number,
): FoldClaim | undefined {
  const claim = claimOf(event.event, properties, occurred_at_ms) as FoldClaim | undefined;
  if (claim === undefined) return undefined;
  claim.reference_key = referenceKey(project_id, claim.reference);
  claim.detail_hash = detailHashOf(event.timestamp === undefined ? null : occurred_at_ms, properties);
  return claim;
}

/**
 * What names an event without a claim: its `dedupe_id`, or else the id that its sender gave it, where a repetition would count
 * again or have another time (docs/clients.md). The sort key of ClickHouse finds other repetitions. 128 bits of a hash: in
 * Postgres all ids take the same space, and none is kept as a text that may name a person. The `dedupe_id`s of client keys are
 * a space of their own: everyone can read the key in a page, and must not take the ids that the tenant's servers use.
 */
function eventKeyOf(
  { project_id, ingestion_id, index, from_client, event: { event, timestamp } }: AcceptedEvent,
  properties: Record<string, unknown>,
): string | undefined {
  if (properties['dedupe_id'] !== undefined) {
    const dedupe_id = dedupeIdOf(event, properties);
    if (dedupe_id !== undefined) {
      const space = from_client === true ? ['client'] : [];
      return hashedId(JSON.stringify([project_id, event, dedupe_id, ...space]));
    }
  }
  if (!isSentId(ingestion_id) || (event !== 'session_start' && timestamp !== undefined)) return undefined;
  return mayHaveDedupeId(event, properties)
    ? hashedId(JSON.stringify([project_id, event, ingestion_id, index]))
    : undefined;
}

/** The UUID of an event that its sender named: the ingestion_id, for later events of a batch a hash of it and the index. */
function sentIdOfEvent({ ingestion_id, index }: AcceptedEvent): string {
  const id = ingestion_id.toLowerCase();
  return index === 0 ? id : hashedId(`${id} ${index}`);
}

/** The properties of {@link detailHashOf}: they count nothing. */
const DETAILS = ['game_id', 'payment_method', 'sport', 'event_ref'] as const;

/**
 * 32 bits of the event's own time and of the details that count nothing. A duplicate with others says something else under
 * the same id. Equal instants are equal, however they are written, and no timestamp equals no timestamp.
 */
function detailHashOf(own_time_ms: number | null, properties: Record<string, unknown>): number {
  let hashed = hash32Of(String(own_time_ms));
  for (const name of DETAILS) {
    const value = properties[name];
    if (value === undefined) continue;
    hashed = hash32Of(name, hashed);
    hashed = hash32Of(typeof value === 'string' ? value : JSON.stringify(value), hashed);
  }
  return hashed;
}

export function playerIdentityKey(project_id: string, player_id: string): string {
  return `p:${project_id}:${player_id}`;
}

export function anonymousIdentityKey(project_id: string, anonymous_id: string): string {
  return `a:${project_id}:${anonymous_id}`;
}

export function referenceKey(project_id: string, reference: string): string {
  return `${project_id}:${reference}`;
}

/** The key under which a snapshot has the claim of a sender's name. */
export function sentKey(tenant_id: string, sent_id: string): string {
  return `${tenant_id} ${sent_id}`;
}

const KYC_KINDS: Partial<Record<EventName, KycKind>> = {
  kyc_submitted: 'submitted',
  kyc_approved: 'approved',
  kyc_rejected: 'rejected',
  kyc_expired: 'expired',
  kyc_level_upgraded: 'level_upgraded',
};

/** What an event says about its player's KYC; undefined for events that say nothing about it. */
export function kycKindOf(event: string): KycKind | undefined {
  return KYC_KINDS[event as EventName];
}

// The fold's rejections. `decide` and `replay` share them, so a replay emits the same reason and message again.

export function unknownProject({ record }: FoldEvent): Rejection {
  return { record, reason: 'MALFORMED_RECORD', message: 'its tenant has no such project' };
}

export function unknownPlayer({ record, identity }: FoldEvent): Rejection {
  const message = `player ${identity.id} does not exist in this project`;
  return { record, reason: 'UNKNOWN_PLAYER', message };
}

export function conflictingDuplicate({ record }: FoldEvent, { event, reference }: Claim): Rejection {
  const message = `${event} ${reference} came before with another content`;
  return { record, reason: 'CONFLICTING_DUPLICATE', message };
}

/** An event whose `dedupe_id`, or whose sender's id, came before with an event of another player. */
export function conflictingEventId({ record, accepted }: FoldEvent): Rejection {
  const message = `${accepted.event.event} came before with this id, of another player`;
  return { record, reason: 'CONFLICTING_DUPLICATE', message };
}

/** A duplicate whose details differ from those of the event that counts. It becomes a dead letter if one is left for its project. */
export interface DifferingDuplicate extends Rejection, ProjectRef {}

/** Dead letters about differing duplicates that a project gets on a UTC day; all are counted. */
export const MAX_DUPLICATE_LETTERS = 100;

export function differingDuplicate(
  { record, accepted: { tenant_id, project_id } }: FoldEvent,
  { event, reference }: Claim,
): DifferingDuplicate {
  const message = `${event} ${reference} came before with another time, game, payment method, sport or match`;
  return { record, reason: 'DUPLICATE_DIFFERS', message, tenant_id, project_id };
}

/** The first of the duplicates, of each project at most as many as `lettersOf` gives. */
export function lettersWithin(
  duplicates: readonly DifferingDuplicate[],
  lettersOf: (project_id: string) => number,
): DifferingDuplicate[] {
  const given = new Map<string, number>();
  return duplicates.filter(({ project_id }) => {
    const letters = (given.get(project_id) ?? 0) + 1;
    given.set(project_id, letters);
    return letters <= lettersOf(project_id);
  });
}

/** Whether the event is the replay of a dead letter that says already that it came before: it gets no other letter about that. */
export function isReported({ accepted }: FoldEvent): boolean {
  return accepted.replay_of !== undefined && REASONS_OF_DUPLICATES.has(accepted.replay_of);
}

export function tooManyMovements({ record }: FoldEvent, { event, reference }: Claim): Rejection {
  const message = `${event} ${reference}: this id has ${MAX_ROWS_WITH_MOVEMENTS} events already; send one id per round`;
  return { record, reason: 'MALFORMED_RECORD', message };
}

export function amountOutOfRange({ record }: FoldEvent): Rejection {
  const message = 'the amount in the base currency exceeds 64 bits';
  return { record, reason: 'AMOUNT_OUT_OF_RANGE', message };
}

/** `cause` is the error of the attempt to apply the record; a replay does not know it any more. */
export function poisonRecord(record: LogRecord, cause?: Error): Rejection {
  const message = `it could not be applied${cause === undefined ? '' : `: ${cause.message}`}`;
  return { record, reason: 'POISON_RECORD', message };
}
