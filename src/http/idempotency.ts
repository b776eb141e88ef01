import { createHash } from 'node:crypto';
import { ApiError, validationError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { isUuid } from '../platform/ids.ts';
import type { Postgres, Tx } from '../platform/postgres/port.ts';
import { retryConflicts } from '../platform/postgres/retry.ts';
import type { InStages, Once, Replay, Stages, StoredBody } from './endpoint.ts';
import { errorBody } from './error-handler.ts';
import {
  findRecord,
  removeRecords,
  storeRecord,
  tryClaimKey,
  type IdempotencyRecord,
  type RecordRef,
} from './idempotency-queries.ts';

const RETENTION_MS = 7 * 86_400_000;
const RETRY_AFTER_S = 1;
/** Expired records of the tenant that each new record removes: more than one, so that the backlog shrinks. */
const REMOVED_PER_RECORD = 10;
/** Expired records that one statement of the clean-up job removes. */
const REMOVED_PER_BATCH = 1_000;

/** Where idempotency records are kept, and the clock by which they expire. */
export interface IdempotencyDeps {
  postgres: Postgres;
  clock: Clock;
}

/** The parts of a request that are compared with an earlier request under the same key. */
export interface KeyedRequest {
  /** Method and declared path: the same key on another endpoint is another record. */
  route: string;
  /** The Idempotency-Key header. */
  key: string | undefined;
  project_id: string | undefined;
  params: unknown;
  query: unknown;
  /** The body as received; undefined: none. */
  body: Buffer | undefined;
  /** The status of a success, which is stored with the response. */
  status: number;
}

/**
 * Creates the `once` of one request (see {@link Once}). `onReplay` is called with the stored status when a stored
 * response is returned. Throws VALIDATION_ERROR when the key is not a UUID.
 *
 * A key is claimed with an advisory lock, without waiting for it. If requests waited instead (for the row that another
 * transaction has inserted), a client that repeats a request could fill the connection pool with waiting requests.
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
        storeRecord(tx, ref, { request_hash, status, response, settles_at: null }, new Date(now_ms)),
        removeRecords(tx, expiredAt(now_ms), REMOVED_PER_RECORD, tenant_id),
      ]);
      return response as StoredBody;
    });
  };
}

/** Creates the `inStages` of one request (see {@link InStages}); the rest is as of {@link createOnce}. */
export function createInStages(
  { postgres, clock }: IdempotencyDeps,
  request: KeyedRequest,
  onReplay: (status: number) => void,
): InStages {
  const { route, status } = request;
  const key = checkedKey(request.key);
  const request_hash = hashOf(request);
  return async <State>(tenant_id: string, { begin, act }: Stages<State>): Promise<StoredBody> => {
    const ref = key === undefined ? undefined : { tenant_id, route, key };
    const now_ms = clock.now_ms();
    const store = async (tx: Tx, answer: string | ApiError, settles_at: Date | null) => {
      if (ref === undefined) return;
      const stored =
        typeof answer === 'string'
          ? { status, response: answer }
          : { status: answer.status, response: errorBody(answer) };
      await storeRecord(tx, ref, { request_hash, ...stored, settles_at }, new Date(now_ms));
    };
    const begun = await retryConflicts(() =>
      postgres.asTenant(tenant_id, async (tx) => {
        const before = ref === undefined ? undefined : await claim(tx, ref, request_hash, now_ms);
        if (before !== undefined) return { before };
        const { state, meanwhile, settles_ms } = await begin(tx);
        await store(tx, meanwhile, new Date(settles_ms));
        if (ref !== undefined) await removeRecords(tx, expiredAt(now_ms), REMOVED_PER_RECORD, tenant_id);
        return { state };
      }),
    );
    if (begun.before !== undefined) {
      onReplay(begun.before.status);
      return answered(begun.before);
    }
    const finish = await act(begun.state);
    const answer = await retryConflicts(() =>
      postgres.asTenant(tenant_id, async (tx) => {
        const given = await finish(tx);
        await store(tx, given, null);
        return given;
      }),
    );
    if (typeof answer !== 'string') throw answer;
    return answer as StoredBody;
  };
}

/** Creates the `replay` of one request (see {@link Replay}); the rest is as of {@link createOnce}. */
export function createReplay(
  { postgres, clock }: IdempotencyDeps,
  request: KeyedRequest,
  onReplay: (status: number) => void,
): Replay {
  const key = checkedKey(request.key);
  if (key === undefined) return () => Promise.resolve(undefined);
  return async (tenant_id) => {
    const ref = { tenant_id, route: request.route, key };
    const now_ms = clock.now_ms();
    const record = await postgres.asTenant(tenant_id, (tx) => findRecord(tx, ref, expiredAt(now_ms)));
    if (record === undefined) return undefined;
    const before = finalOf(record, hashOf(request), now_ms);
    onReplay(before.status);
    return answered(before);
  };
}

/** A stored response; throws when it is an error. */
function answered({ status, response }: { status: number; response: string }): StoredBody {
  if (status < 400) return response as StoredBody;
  const { error } = JSON.parse(response) as { error: Pick<ApiError, 'code' | 'message' | 'details'> };
  const { code, message, details } = error;
  const retry = status === 503 ? { retry_after_s: RETRY_AFTER_S } : {};
  throw new ApiError(code, message, { status, ...retry, ...(details === undefined ? {} : { details }) });
}

/** Removes the expired records of every tenant in batches; returns how many it removed. */
export async function removeExpiredRecords({ postgres, clock }: IdempotencyDeps): Promise<number> {
  const expired_at = expiredAt(clock.now_ms());
  let removed = 0;
  for (;;) {
    const count = await removeRecords(postgres.service, expired_at, REMOVED_PER_BATCH);
    removed += count;
    if (count < REMOVED_PER_BATCH) return removed;
  }
}

/**
 * Returns the stored response of this key, or undefined when the running transaction has now claimed the key. Rejects
 * with IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_IN_PROGRESS.
 */
async function claim(
  tx: Tx,
  ref: RecordRef,
  request_hash: Buffer,
  now_ms: number,
): Promise<{ status: number; response: string } | undefined> {
  // Both statements are sent together but run in this order. The second one sees everything that was committed before
  // the lock was taken. So a transaction that holds the lock and finds no record is the only one for this key.
  const [claimed, record] = await Promise.all([tryClaimKey(tx, ref), findRecord(tx, ref, expiredAt(now_ms))]);
  if (record !== undefined) return finalOf(record, request_hash, now_ms);
  if (claimed) return undefined;
  throw inProgress();
}

/** The record, if its answer is final. Throws IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_IN_PROGRESS. */
function finalOf(record: IdempotencyRecord, request_hash: Buffer, now_ms: number): IdempotencyRecord {
  if (!record.request_hash.equals(request_hash)) {
    const message = 'this Idempotency-Key was used for another request: use a new key for each request';
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', message);
  }
  if (record.settles_at === null || record.settles_at.getTime() <= now_ms) return record;
  throw inProgress();
}

function inProgress(): ApiError {
  const message = 'a request with this Idempotency-Key is being worked on; ask again for its answer';
  return new ApiError('IDEMPOTENCY_IN_PROGRESS', message, { retry_after_s: RETRY_AFTER_S });
}

function checkedKey(header: string | undefined): string | undefined {
  if (header === undefined || isUuid(header)) return header?.toLowerCase();
  throw validationError([{ path: 'Idempotency-Key', message: 'must be a UUID' }]);
}

/** The hash by which a request is compared. The route is not in it, because the record's key contains the route. */
function hashOf({ project_id, params, query, body }: KeyedRequest): Buffer {
  const asked = JSON.stringify([project_id ?? null, params, query ?? null]);
  // NUL separates the two parts, because JSON text contains none.
  const hash = createHash('sha256').update(`${asked}\0`);
  return (body === undefined ? hash : hash.update(body)).digest();
}

function expiredAt(now_ms: number): Date {
  return new Date(now_ms - RETENTION_MS);
}
