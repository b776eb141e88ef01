import type { ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import { ApiError, validationError } from '../../errors.ts';
import { encodeAccepted, identityKey, type Stamp } from '../events/envelope.ts';
import { findEventProblem, type EventBody, type ValidationContext } from '../events/validate.ts';
import { exactJson, parseExact } from '../../platform/exact-json.ts';
import type { NewRecord } from '../../platform/event-log/port.ts';
import { newId } from '../../platform/ids.ts';
import { isUtf8 } from 'node:buffer';
import { MAX_BATCH_EVENTS, MAX_ID_LENGTH } from '../events/catalogue.ts';
import { isDedupeId } from '../events/dedupe-id.ts';
import type { RejectedRow } from '../rejected/refusals.ts';
import { eventTexts } from './event-texts.ts';
import { isProtecting } from './exclusions.ts';
import { sentIdOf } from './sent-id.ts';

/** The answer to a batch (spec part 6). */
export interface BatchResult {
  ingestion_id: string;
  accepted: number;
  rejected: RejectedRow[];
}

/** The stamp of a request: its ingestion_id is new, tenant, project and kind of the sender come from the key. */
export function stampFor(key: ApiKeyPrincipal, received_at_ms: number): Stamp {
  const { tenant_id, project_id, environment } = key;
  const stamp: Stamp = { ingestion_id: newId(), tenant_id, project_id, environment, received_at_ms };
  if (key.kind === 'client') stamp.from_client = true;
  return stamp;
}

/**
 * The stamp of a batch: its ingestion_id follows from the `Idempotency-Key` header, if it has one (a header, so that the body of
 * the spec stays). Throws VALIDATION_ERROR for a header that names nothing: all batches of that program would be one.
 */
export function batchStampFor(
  key: ApiKeyPrincipal,
  received_at_ms: number,
  sent_id: string | undefined,
): Stamp {
  const stamp = stampFor(key, received_at_ms);
  if (sent_id === undefined) return stamp;
  if (isDedupeId(sent_id)) return { ...stamp, ingestion_id: sentIdOf(key.key_id, sent_id) };
  const message = `must be an id of 1 to ${MAX_ID_LENGTH} characters`;
  throw validationError([{ path: 'Idempotency-Key', message }]);
}

/** What goes to the log. */
export interface Accepted {
  records: NewRecord[];
  /** One of the events protects its player: the answer waits DEPARTURE_MS. */
  is_protecting: boolean;
}

/** The log record of a single event. Throws the ApiError that names its problem. */
export function acceptEvent(body: JsonBody, stamp: Stamp, context: ValidationContext): Accepted {
  const problem = findEventProblem(body.value, context);
  if (problem !== undefined) {
    const { code, path, message } = problem;
    throw new ApiError(code, message, { details: { issues: [{ path, message }] } });
  }
  const event = body.value as EventBody;
  const record = { key: identityKey(stamp.project_id, event), value: encodeAccepted(stamp, 0, body.text) };
  return { records: [record], is_protecting: isProtecting(event.event) };
}

/**
 * The log records of a batch's valid events, and the answer, which names the problems of the others. Throws
 * BODY_MALFORMED or VALIDATION_ERROR when the batch itself is not of the right shape or size.
 */
export function acceptBatch(
  body: JsonBody,
  stamp: Stamp,
  context: ValidationContext,
): Accepted & { result: BatchResult } {
  const events = eventsOf(body.value);
  const texts = eventTexts(body.text, events.length);
  const records: NewRecord[] = [];
  const rejected: BatchResult['rejected'] = [];
  let is_protecting = false;
  for (let index = 0; index < events.length; index++) {
    const event = events[index];
    const problem = findEventProblem(event, context);
    if (problem === undefined) {
      const value = encodeAccepted(stamp, index, texts[index] ?? exactJson(event));
      records.push({ key: identityKey(stamp.project_id, event as EventBody), value });
      is_protecting ||= isProtecting((event as EventBody).event);
    } else {
      rejected.push({ index, code: problem.code, reason: problem.message });
    }
  }
  const { ingestion_id } = stamp;
  return { records, is_protecting, result: { ingestion_id, accepted: records.length, rejected } };
}

function eventsOf(value: unknown): unknown[] {
  const shape = 'a batch is {"events": [event, …]}';
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError('BODY_MALFORMED', shape);
  for (const key of Object.keys(value)) {
    if (key !== 'events')
      throw new ApiError('BODY_MALFORMED', `unknown field ${JSON.stringify(key.slice(0, 64))}; ${shape}`);
  }
  const { events } = value as { events?: unknown };
  if (!Array.isArray(events)) throw new ApiError('BODY_MALFORMED', shape);
  if (events.length === 0 || events.length > MAX_BATCH_EVENTS) {
    const message = `a batch has 1 to ${MAX_BATCH_EVENTS} events, this one has ${events.length}`;
    throw new ApiError('VALIDATION_ERROR', message, { details: { issues: [{ path: 'events', message }] } });
  }
  return events;
}

/** A request body as text and as parsed JSON, its numbers not rounded. */
export interface JsonBody {
  text: string;
  value: unknown;
}

/** Parses the raw bytes of a body; throws BODY_MALFORMED (spec part 7). */
export function parseJsonBody(raw: Buffer): JsonBody {
  if (!isUtf8(raw)) throw new ApiError('BODY_MALFORMED', 'the body is not UTF-8');
  const text = raw.toString('utf8');
  try {
    return { text, value: parseExact(text) };
  } catch (cause) {
    throw new ApiError('BODY_MALFORMED', 'the body is not valid JSON', { cause });
  }
}
