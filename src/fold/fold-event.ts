import type { AcceptedEvent, DeadLetterReason } from '../events/envelope.ts';
import { parseTimestamp } from '../events/timestamp.ts';
import type { LogRecord } from '../platform/event-log/port.ts';

/** An accepted event with its place on the log. */
export interface FoldEvent {
  record: LogRecord;
  accepted: AcceptedEvent;
  /** When it happened, or when it was received if the caller did not say. */
  occurred_at_ms: number;
  properties: Record<string, unknown>;
}

/** A record the fold cannot take, with the reason. */
export interface Rejection {
  record: LogRecord;
  reason: DeadLetterReason;
  message: string;
}

export type ParsedRecord = { event: FoldEvent } | { rejection: Rejection };

/** Reads a record of the topic `events`. Intake validated it, but the log is open to others: never throws. */
export function parseRecord(record: LogRecord): ParsedRecord {
  let accepted: AcceptedEvent;
  try {
    accepted = JSON.parse(record.value) as AcceptedEvent;
    const { event, tenant_id, project_id, ingestion_id, received_at_ms, index } = accepted;
    const sound =
      typeof event.event === 'string' &&
      typeof tenant_id === 'string' &&
      typeof project_id === 'string' &&
      typeof ingestion_id === 'string' &&
      Number.isSafeInteger(received_at_ms) &&
      Number.isSafeInteger(index) &&
      typeof (event.player_id ?? event.anonymous_id) === 'string';
    if (!sound) return malformed(record, 'not an accepted event');
  } catch (error) {
    return malformed(record, String(error));
  }
  const { timestamp, properties } = accepted.event;
  const occurred_at_ms = timestamp === undefined ? accepted.received_at_ms : parseTimestamp(timestamp);
  if (occurred_at_ms === undefined) return malformed(record, 'its timestamp is not ISO-8601');
  return { event: { record, accepted, occurred_at_ms, properties: properties ?? {} } };
}

function malformed(record: LogRecord, message: string): ParsedRecord {
  return { rejection: { record, reason: 'MALFORMED_RECORD', message } };
}

/** The identity an event names, as a key: player_id decides where both ids are given (design 5). */
export function identityOf(event: FoldEvent): { kind: 'player' | 'anonymous'; id: string; key: string } {
  const { project_id, event: body } = event.accepted;
  if (body.player_id !== undefined) {
    const id = body.player_id.toLowerCase();
    return { kind: 'player', id, key: `${project_id}:p:${id}` };
  }
  const id = body.anonymous_id ?? '';
  return { kind: 'anonymous', id, key: `${project_id}:a:${id}` };
}
