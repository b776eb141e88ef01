import { createHash } from 'node:crypto';
import { ApiError, validationError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { isUuid } from '../platform/ids.ts';
import type { Postgres, Tx } from '../platform/postgres/port.ts';
import type { Once, StoredBody } from './endpoint.ts';
import {
  findRecord,
  removeRecords,
  storeRecord,
  tryClaimKey,
  type RecordRef,
} from './idempotency-queries.ts';

const RETENTION_MS = 7 * 86_400_000;
const RETRY_AFTER_S = 1;
/** Expired records of the tenant that every new record takes with it: more go than come. */
const REMOVED_BESIDE = 10;
const REMOVED_AT_ONCE = 1_000;

/** What remembering answers takes. */
export interface IdempotencyDeps {
  postgres: Postgres;
  clock: Clock;
}

/** A request as far as it tells one from another. */
export interface KeyedRequest {
  /** Method and declared path: keys of different endpoints have nothing to do with each other. */
  route: string;
  /** The Idempotency-Key header. */
  key: string | undefined;
  project_id: string | undefined;
  params: unknown;
  query: unknown;
  /** The body as it came; undefined: none. */
  body: Buffer | undefined;
  /** The status that success is answered with. */
  status: number;
}

/**
 * The `once` of one request (see {@link Once}). `onReplay` is told the status of an answer that was given before.
 * Throws VALIDATION_ERROR when the key is not a UUID.
 *
 * The claim is an advisory lock that is had at once or not at all. Waiting instead (for the row another transaction
 * has inserted) would let a client that repeats itself fill the connection pool with requests that do nothing.
 */
export function createOnce(
  { postgres, clock }: IdempotencyDeps,
  request: KeyedRequest,
  onReplay: (status: number) => void,
): Once {
  const { route, status } = request;
  const key = checkedKey(request.key);
  if (key === undefined) {
    return async (tenant_id, work) => (await postgres.asTenant(tenant_id, work)) as StoredBody;
  }
  const request_hash = hashOf(request);
  return (tenant_id, work) => {
    const ref = { tenant_id, route, key };
    const now_ms = clock.now_ms();
    return postgres.asTenant(tenant_id, async (tx) => {
      const before = await claim(tx, ref, request_hash, now_ms);
      if (before !== undefined) {
        onReplay(before.status);
        return before.response as StoredBody;
      }
      const response = await work(tx);
      await Promise.all([
        storeRecord(tx, ref, { request_hash, status, response }, new Date(now_ms)),
        removeRecords(tx, expiredAt(now_ms), REMOVED_BESIDE, tenant_id),
      ]);
      return response as StoredBody;
    });
  };
}

/** Removes the expired records of every tenant, batch by batch; returns how many there were. */
export async function removeExpiredRecords({ postgres, clock }: IdempotencyDeps): Promise<number> {
  const expired_at = expiredAt(clock.now_ms());
  let removed = 0;
  for (;;) {
    const count = await removeRecords(postgres.service, expired_at, REMOVED_AT_ONCE);
    removed += count;
    if (count < REMOVED_AT_ONCE) return removed;
  }
}

/**
 * What was answered under this key, or undefined when it is now claimed for the running transaction. Rejects with
 * IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_IN_PROGRESS.
 */
async function claim(
  tx: Tx,
  ref: RecordRef,
  request_hash: Buffer,
  now_ms: number,
): Promise<{ status: number; response: string } | undefined> {
  // Together, yet in this order: the second statement sees all that was committed before the lock was had, so
  // whoever has the lock and finds no record is the only one.
  const [claimed, record] = await Promise.all([tryClaimKey(tx, ref), findRecord(tx, ref, expiredAt(now_ms))]);
  if (record !== undefined) {
    if (record.request_hash.equals(request_hash)) return record;
    const message = 'this Idempotency-Key was used for another request: use a new key for each request';
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', message);
  }
  if (claimed) return undefined;
  const message = 'a request with this Idempotency-Key is being worked on; ask again for its answer';
  throw new ApiError('IDEMPOTENCY_IN_PROGRESS', message, { retry_after_s: RETRY_AFTER_S });
}

function checkedKey(header: string | undefined): string | undefined {
  if (header === undefined || isUuid(header)) return header?.toLowerCase();
  throw validationError([{ path: 'Idempotency-Key', message: 'must be a UUID' }]);
}

/** The route is part of the record's key. */
function hashOf({ project_id, params, query, body }: KeyedRequest): Buffer {
  const asked = JSON.stringify([project_id ?? null, params, query ?? null]);
  // No JSON text has a NUL.
  const hash = createHash('sha256').update(`${asked}\0`);
  return (body === undefined ? hash : hash.update(body)).digest();
}

function expiredAt(now_ms: number): Date {
  return new Date(now_ms - RETENTION_MS);
}
