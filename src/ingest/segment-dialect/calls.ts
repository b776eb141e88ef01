import { ApiError } from '../../errors.ts';
import type { JsonBody } from '../intake/accept.ts';
import { MAX_CALL_BYTES, type CallType } from './translate.ts';

/** Calls in one request. */
export const MAX_CALLS = 2_500;

/** The calls of a request. */
export interface Calls {
  calls: readonly unknown[];
  /** The request is a batch: one refused call does not refuse it. */
  is_batch: boolean;
  /** The API key in the body, in place of one in a header. */
  write_key: unknown;
  sent_at: unknown;
  /** The name of the library that sent them, as its first call says. */
  library: string | undefined;
  /** One of the calls may be longer than {@link MAX_CALL_BYTES}. */
  may_be_large: boolean;
}

/**
 * Reads the body of a request; `type` is that of the path, undefined for a batch. Throws BODY_MALFORMED for another shape, and
 * VALIDATION_ERROR (400) for a batch without calls or with more than {@link MAX_CALLS}.
 */
export function callsOf({ text, value }: JsonBody, type: CallType | undefined): Calls {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError('BODY_MALFORMED', 'the body is a JSON object');
  const { batch, writeKey: write_key, sentAt: sent_at } = value as Record<string, unknown>;
  // UTF-16 units: each is at most three bytes.
  const may_be_large = text.length * 3 > MAX_CALL_BYTES;
  const shared = { write_key, sent_at, may_be_large };
  if (type !== undefined) return { ...shared, calls: [value], is_batch: false, library: libraryOf(value) };
  if (!Array.isArray(batch)) throw new ApiError('BODY_MALFORMED', 'a batch is {"batch": [call, …]}');
  if (batch.length === 0 || batch.length > MAX_CALLS) {
    const message = `a batch has 1 to ${MAX_CALLS} calls, this one has ${batch.length}`;
    const details = { issues: [{ path: 'batch', message }] };
    throw new ApiError('VALIDATION_ERROR', message, { status: 400, details });
  }
  return { ...shared, calls: batch, is_batch: true, library: libraryOf(batch[0]) };
}

function libraryOf(call: unknown): string | undefined {
  const { context } = (call ?? {}) as { context?: { library?: { name?: unknown } | null } | null };
  const name = context?.library?.name;
  return typeof name === 'string' ? name : undefined;
}
