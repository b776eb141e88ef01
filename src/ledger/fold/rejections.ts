import type { Claim } from '../money/ledger.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import type { FoldEvent, Rejection } from './fold-event.ts';

// The fold's rejections, worded once: a replay says what was said the first time.

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

export function amountOutOfRange({ record }: FoldEvent): Rejection {
  const message = 'the amount in the base currency exceeds 64 bits';
  return { record, reason: 'AMOUNT_OUT_OF_RANGE', message };
}

/** `cause` is what was wrong; it is not known any more when the record is replayed. */
export function poisonRecord(record: LogRecord, cause?: Error): Rejection {
  const message = `it could not be applied${cause === undefined ? '' : `: ${cause.message}`}`;
  return { record, reason: 'POISON_RECORD', message };
}
