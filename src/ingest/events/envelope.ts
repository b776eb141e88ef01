import type { EventBody } from './validate.ts';

/** What intake puts on the topic `events`: one message per event. */
export interface AcceptedEvent {
  ingestion_id: string;
  /** Index in the batch; 0 for a single event. With ingestion_id it names the event everywhere downstream. */
  index: number;
  tenant_id: string;
  project_id: string;
  environment: string;
  received_at_ms: number;
  event: EventBody;
}

/** The stamp every event of one request shares. */
export type Stamp = Omit<AcceptedEvent, 'index' | 'event'>;

/**
 * Writes an accepted event around the JSON text of its body. The text was parsed and validated before; using
 * it as it came saves writing it again. Ids are UUIDs and enum values: they need no escapes.
 */
export function encodeAccepted(stamp: Stamp, index: number, bodyJson: string): string {
  return (
    `{"ingestion_id":"${stamp.ingestion_id}","index":${index},"tenant_id":"${stamp.tenant_id}",` +
    `"project_id":"${stamp.project_id}","environment":"${stamp.environment}",` +
    `"received_at_ms":${stamp.received_at_ms},"event":${bodyJson}}`
  );
}

/** The log key of an event: order holds per project and identity. */
export function identityKey(project_id: string, event: EventBody): string {
  return `${project_id}:${event.player_id?.toLowerCase() ?? event.anonymous_id ?? ''}`;
}

/**
 * What the fold puts on the topic `player-events`, keyed by {@link playerKey}: exactly a row of the ClickHouse
 * table `events`, so that the sink passes lines through. Times are milliseconds, `properties` is an object.
 */
export interface PlayerEvent {
  tenant_id: string;
  project_id: string;
  event: string;
  player_id: string;
  occurred_at: number;
  received_at: number;
  ingestion_id: string;
  event_index: number;
  base_amount: bigint | null;
  base_payout: bigint | null;
  properties: Record<string, unknown>;
}

/** Writes a resolved event as one JSONEachRow line, money as JSON integers. */
export function encodePlayerEvent(row: PlayerEvent): string {
  return (
    `{"tenant_id":"${row.tenant_id}","project_id":"${row.project_id}","event":${JSON.stringify(row.event)},` +
    `"player_id":"${row.player_id}","occurred_at":${row.occurred_at},"received_at":${row.received_at},` +
    `"ingestion_id":"${row.ingestion_id}","event_index":${row.event_index},"base_amount":${row.base_amount},` +
    `"base_payout":${row.base_payout},"properties":${JSON.stringify(row.properties)}}`
  );
}

/** Whether a line of {@link encodePlayerEvent} belongs to the project: who it belongs to stands first. */
export function isOfProject(
  line: string,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
): boolean {
  return line.startsWith(`{"tenant_id":"${tenant_id}","project_id":"${project_id}",`);
}

/**
 * When the service received the event of a record of either topic; undefined where the record is none of ours. The
 * stamp stands before everything a caller wrote, so the first match is it.
 */
export function receivedAtOf(value: string): number | undefined {
  const found = /"received_at(?:_ms)?":(\d{1,15})\b/.exec(value)?.[1];
  return found === undefined ? undefined : Number(found);
}

export function playerKey(project_id: string, player_id: string): string {
  return `${project_id}:${player_id}`;
}

/** Why the fold could not take an event. */
export const DEAD_LETTER_REASONS = [
  'MALFORMED_RECORD',
  'UNKNOWN_PLAYER',
  'CONFLICTING_DUPLICATE',
  'AMOUNT_OUT_OF_RANGE',
  'POISON_RECORD',
] as const;
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];

/** What the fold puts on the topic `dead-letters`. */
export interface DeadLetter {
  reason: DeadLetterReason;
  message: string;
  /** Where the record stands on `events`. */
  partition: number;
  offset: string;
  key: string;
  /** The record's value, as it was. */
  value: string;
  at_ms: number;
}
