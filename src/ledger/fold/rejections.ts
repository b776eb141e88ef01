import type { Claim } from '../money/ledger.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import type { FoldEvent, Rejection } from './fold-event.ts';

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

export function amountOutOfRange({ record }: FoldEvent): Rejection {
  const message = 'the amount in the base currency exceeds 64 bits';
  return { record, reason: 'AMOUNT_OUT_OF_RANGE', message };
}

/** `cause` is the error of the attempt to apply the record; a replay does not know it any more. */
export function poisonRecord(record: LogRecord, cause?: Error): Rejection {
  const message = `it could not be applied${cause === undefined ? '' : `: ${cause.message}`}`;
  return { record, reason: 'POISON_RECORD', message };
}
