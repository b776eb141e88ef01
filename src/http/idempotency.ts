import { createHash } from 'node:crypto';
import { ApiError, validationError } from '../errors.ts';
import { isUuid } from '../platform/ids.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { AnswerKey, RunSaga, Once, Replay, StoredAnswer, StoredBody } from './endpoint.ts';
import { errorBody } from './error-handler.ts';
import {
  removeRecords,
  selectRecords,
  storeRecords,
  tryClaimKeys,
  type IdempotencyRecord,
} from './idempotency-queries.ts';
import type { CronEntry } from '../platform/jobs/port.ts';
import type { Platform } from '../platform/platform.ts';

const RETENTION_MS = 7 * 86_400_000;
const RETRY_AFTER_S = 1;
/** Expired records of the tenant that each new record removes: more than one, so that the backlog shrinks. */
const REMOVED_PER_RECORD = 10;
/** Expired records that one statement of the clean-up job removes. */
const REMOVED_PER_BATCH = 1_000;

/** Where idempotency records are kept, and the clock by which they expire. */
export type IdempotencyDeps = Pick<Platform, 'postgres' | 'clock'>;

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
    const answer_key = { tenant_id, route, key, request_hash, status, now_ms: clock.now_ms() };
    return postgres.asTenant(tenant_id, async (tx) => {
      const [claim] = await claimKeys(tx, [answer_key]);
      if (claim?.kind === 'refused') throw claim.error;
      if (claim?.kind === 'answered') {
        onReplay(claim.before.status);
        return claim.before.response as StoredBody;
      }
      const answer = await work(tx);
      await storeAnswers(tx, [{ key: answer_key, answer, settles_at: null }]);
      return answer as StoredBody;
    });
  };
}

/** Creates the `runSaga` of one request (see {@link RunSaga}); the rest is as of {@link createOnce}. */
export function createRunSaga(
  { clock }: Pick<IdempotencyDeps, 'clock'>,
  request: KeyedRequest,
  onReplay: (status: number) => void,
): RunSaga {
  const { route, status } = request;
  const key = checkedKey(request.key);
  const request_hash = hashOf(request);
  return async (tenant_id, { prepare, execute, settle }) => {
    const answer_key =
      key === undefined ? undefined : { tenant_id, route, key, request_hash, status, now_ms: clock.now_ms() };
    const prepared = await prepare(answer_key);
    if ('before' in prepared) {
      onReplay(prepared.before.status);
      return answered(prepared.before);
    }
    const answer = await settle(answer_key, prepared.intent, await execute(prepared.intent));
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
    const [record] = await postgres.readAsTenant(tenant_id, (tx) =>
      selectRecords(tx, [ref], expiredAt(now_ms)),
    );
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

/** Whether a transaction may answer the request of a key: it has claimed the key, or why not. */
export type Claim =
  | { kind: 'free' }
  | { kind: 'answered'; before: StoredAnswer }
  /** IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_IN_PROGRESS. */
  | { kind: 'refused'; error: ApiError };

/**
 * Claims the keys of requests for the running transaction, in their order; a request without a key is free. Waits for no
 * other transaction. No key may come twice.
 */
export async function claimKeys(tx: Tx, keys: readonly (AnswerKey | undefined)[]): Promise<Claim[]> {
  const given = keys.filter((key) => key !== undefined);
  const [first] = given;
  if (first === undefined) return keys.map(() => ({ kind: 'free' }));
  // Both statements are sent together but run in this order. The second one sees everything that was committed before
  // the locks were taken. So a transaction that holds a lock and finds no record is the only one for this key.
  const expired_at = expiredAt(Math.max(...given.map(({ now_ms }) => now_ms)));
  const [claimed, records] = await Promise.all([tryClaimKeys(tx, given), findRecords(tx, given, expired_at)]);
  const found = new Map(records.map((record) => [nameOf(record), record]));
  const has_claimed = new Map(given.map((key, i) => [nameOf(key), claimed[i] === true]));
  return keys.map((key): Claim => {
    if (key === undefined) return { kind: 'free' };
    const record = found.get(nameOf(key));
    try {
      if (record !== undefined) {
        return { kind: 'answered', before: finalOf(record, key.request_hash, key.now_ms) };
      }
    } catch (error) {
      if (error instanceof ApiError) return { kind: 'refused', error };
      throw error;
    }
    return has_claimed.get(nameOf(key)) === true
      ? { kind: 'free' }
      : { kind: 'refused', error: inProgress() };
  });
}

/** What is stored under a key: a response body or an error, final or, until `settles_at`, not given yet. */
export interface Answer {
  key: AnswerKey | undefined;
  answer: string | ApiError;
  settles_at: Date | null;
}

/**
 * Stores answers in the transaction that has claimed their keys, or that comes after it; those without a key are skipped.
 * Also removes some of the tenant's expired ones, if any of the answers is final.
 */
export async function storeAnswers(tx: Tx, answers: readonly Answer[]): Promise<void> {
  const rows = answers.flatMap(({ key, answer, settles_at }) => {
    if (key === undefined) return [];
    const { status, now_ms, ...ref } = key;
    const stored =
      typeof answer === 'string'
        ? { status, response: answer }
        : { status: answer.status, response: errorBody(answer) };
    return [{ ...ref, ...stored, settles_at, created_at: new Date(now_ms) }];
  });
  const [first] = rows;
  if (first === undefined) return;
  const expired_at = expiredAt(first.created_at.getTime());
  const finals = rows.filter(({ settles_at }) => settles_at === null).length;
  await Promise.all([
    storeRecords(tx, rows),
    ...(finals === 0 ? [] : [removeRecords(tx, expired_at, finals * REMOVED_PER_RECORD, first.tenant_id)]),
  ]);
}

const nameOf = ({ route, key }: Pick<AnswerKey, 'route' | 'key'>) => `${route} ${key}`;

/** An async function as `tryClaimKeys` is one, so that its statement is sent in its turn. */
async function findRecords(tx: Tx, keys: readonly AnswerKey[], expired_at: Date) {
  return await selectRecords(tx, keys, expired_at);
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

export const CLEAN_UP_TASK = 'idempotency-clean-up';

/** Each new record removes old ones of its tenant; this daily job (03:30 UTC) cleans up tenants without new records. */
export const CLEAN_UP_CRONTAB: readonly CronEntry[] = [
  {
    identifier: 'idempotency clean-up',
    match: '30 3 * * *',
    backfill_ms: 0,
    job: { task: CLEAN_UP_TASK, payload: {}, max_attempts: 3, job_key: CLEAN_UP_TASK },
  },
];

/** The task: removes records older than 7 days. */
export async function runCleanUp(platform: Pick<Platform, 'postgres' | 'clock' | 'logger'>): Promise<void> {
  const removed = await removeExpiredRecords(platform);
  platform.logger.info({ removed }, 'removed expired idempotency records');
}
