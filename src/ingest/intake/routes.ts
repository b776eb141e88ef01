import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeyAuthenticator, ApiKeyPrincipal, Caller } from '../../http/auth/api-key.ts';
import type { KeyClient } from '../../http/auth/key-clients.ts';
import { andThen, onRejection, whenDone, type Maybe } from '../../http/auth/maybe.ts';
import { ADDRESS_POLICY, addressOf, takeOfAddress } from '../../http/auth/address-limit.ts';
import { admitOrigin, NATIVE_CORS } from '../../http/cors.ts';
import { JSON_TYPE } from '../../http/envelope.ts';
import { MAX_BATCH_EVENTS } from '../events/catalogue.ts';
import { ApiError } from '../../errors.ts';
import type { ValidationContext } from '../events/validate.ts';
import { LogUnavailable, RecordTooLarge } from '../../platform/event-log/port.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { RatePolicy, RateVerdict } from '../../platform/rate-limit/port.ts';
import type { TenantCapabilityCache } from '../../tenants/config/capability-cache.ts';
import { acceptBatch, acceptEvent, batchStampFor, stampFor, type Accepted, type JsonBody } from './accept.ts';
import { clientOf, nameIn, noteRejected, refusalNoter } from '../rejected/refusals.ts';
import type { RejectedEvents } from '../rejected/rejected-events.ts';
import { DEPARTURE_MS } from './exclusions.ts';
import type { Platform } from '../../platform/platform.ts';

export interface IntakeDeps extends Pick<Platform, 'rateLimiter' | 'eventLog' | 'clock' | 'metrics'> {
  apiKeys: ApiKeyAuthenticator;
  capabilities: TenantCapabilityCache;
  /** Keeps what is refused for Events › Rejected. */
  rejected: Pick<RejectedEvents, 'note'>;
  /** The rate policy of API keys that have none. */
  defaultPolicy: RatePolicy;
}

const RETRY_AFTER_S = 1;

/**
 * The ingestion endpoints (spec part 4). As a rule API key, rate and currencies are in local memory. Then a request
 * creates no promise before its append, which saves time per request.
 */
export function registerIntake(app: FastifyInstance, deps: IntakeDeps): void {
  const { clock, metrics, rejected } = deps;

  const onRequest = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) =>
    whenDone(() => admit(deps, request, reply), done);
  const route = { onRequest, config: { cors: NATIVE_CORS } };
  const keyOf = ({ apiKey }: FastifyRequest) => apiKey;
  const sentIn = ({ body }: FastifyRequest) => (body as JsonBody | undefined)?.value;
  const onError = refusalNoter(rejected, keyOf, sentIn);

  app.post('/v1/events', { ...route, onError }, (request, reply) => {
    const key = request.apiKey as ApiKeyPrincipal;
    const now_ms = clock.now_ms();
    const handled = andThen(contextOf(deps, key, now_ms), (context) => {
      const stamp = stampFor(key, now_ms);
      const accepted = counted(metrics, () => acceptEvent(bodyOf(request), stamp, context));
      const answer =
        `{"data":{"ingestion_id":"${stamp.ingestion_id}","accepted":true,` +
        `"tenant_id":"${stamp.tenant_id}","project_id":"${stamp.project_id}"}}`;
      append(deps, accepted, reply, { status: 202, answer });
    });
    onRejection(handled, (error) => reply.send(error));
  });

  // A batch that is refused as a whole is no event.
  const onBatchError = refusalNoter(rejected, keyOf, () => undefined);
  app.post('/v1/events/batch', { ...route, onError: onBatchError }, (request, reply) => {
    const key = request.apiKey as ApiKeyPrincipal;
    const now_ms = clock.now_ms();
    const body = bodyOf(request);
    // One event of the batch was taken before the body was read.
    const more = countOf(body) - 1;
    const taken = more === 0 ? undefined : takeOfAddress(deps.rateLimiter, key, addressOf(request), more);
    const handled = andThen(taken, (verdict) => {
      applyAddress(verdict, reply);
      return andThen(contextOf(deps, key, now_ms), (context) => {
        const stamp = batchStampFor(key, now_ms, request.headers['idempotency-key']?.toString());
        const accepted = acceptBatch(body, stamp, context);
        const { result } = accepted;
        const { events } = body.value as { events: readonly unknown[] };
        const batch = { key, events, clientOf: () => clientOf(request), nameOf: nameIn };
        noteRejected(deps, result.rejected, batch);
        append(deps, accepted, reply, { status: 202, answer: JSON.stringify({ data: result }) });
      });
    });
    onRejection(handled, (error) => reply.send(error));
  });
}

/** Runs `accept` and counts the event when it is refused. */
function counted<T>(metrics: Metrics, accept: () => T): T {
  try {
    return accept();
  } catch (error) {
    if (error instanceof ApiError) metrics.eventsRejected.inc({ code: error.code });
    throw error;
  }
}

/** The parsed body. Fastify calls no parser for a request that has neither body nor content type. */
function bodyOf(request: FastifyRequest): JsonBody {
  if (request.body === undefined) {
    throw new ApiError('BODY_MALFORMED', 'a JSON body is required (Content-Type: application/json)');
  }
  return request.body as JsonBody;
}

/** As {@link admitKey}, and takes one permit of the address for a client key. */
function admit(deps: IntakeDeps, request: FastifyRequest, reply: FastifyReply): Maybe<void> {
  return andThen(admitKey(deps, request.headers.authorization, request, reply), (key) => {
    if (key.kind === 'server') return;
    return andThen(takeOfAddress(deps.rateLimiter, key, addressOf(request), 1), (of_address) =>
      applyAddress(of_address, reply),
    );
  });
}

/**
 * The caller of a request. A class, because V8 keeps the getter of an object literal, and with it the whole request, until the next
 * garbage collection of the whole heap.
 */
class Sender implements Caller {
  readonly library: string | null | undefined;
  readonly #request: FastifyRequest;
  readonly #metrics: Pick<Metrics, 'intakeClients'>;

  constructor(
    request: FastifyRequest,
    library: string | null | undefined,
    metrics: Pick<Metrics, 'intakeClients'>,
  ) {
    this.#request = request;
    this.#metrics = metrics;
    this.library = library;
  }

  get headers(): FastifyRequest['headers'] {
    return this.#request.headers;
  }

  /** Read only where the key is not in memory. Behind a proxy each read parses a header. */
  get ip(): string {
    return addressOf(this.#request);
  }

  noteClient(library: KeyClient): void {
    this.#metrics.intakeClients.inc({ library });
  }
}

/**
 * Authenticates the caller by an Authorization header, decides about its origin, and takes one permit of its API key; sets the
 * X-RateLimit-* headers.
 */
export function admitKey(
  deps: IntakeDeps,
  authorization: string | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  library?: string | null,
): Maybe<ApiKeyPrincipal> {
  const { apiKeys, rateLimiter, defaultPolicy, metrics } = deps;
  return andThen(apiKeys.authenticate(authorization, new Sender(request, library, metrics)), (key) => {
    request.apiKey = key;
    // Before anything that takes time.
    if (key.kind === 'client') addressOf(request);
    admitOrigin(key, request, reply);
    const policy = key.ingest_policy ?? defaultPolicy;
    return andThen(rateLimiter.take(policy, key.key_id), (verdict) => {
      applyVerdict(verdict, policy, reply, 'requests with this key');
      return key;
    });
  });
}

/** Throws RATE_LIMITED for a refusal. The X-RateLimit-* headers are those of the limit that is reached sooner. */
export function applyAddress(verdict: RateVerdict | undefined, reply: FastifyReply): void {
  if (verdict === undefined) return;
  const is_sooner = verdict.remaining < Number(reply.getHeader('x-ratelimit-remaining') ?? Infinity);
  if (is_sooner || !verdict.allowed) applyVerdict(verdict, ADDRESS_POLICY, reply, 'events from this address');
}

function applyVerdict(verdict: RateVerdict, policy: RatePolicy, reply: FastifyReply, what: string): void {
  void reply.headers({
    'x-ratelimit-limit': policy.burst,
    'x-ratelimit-remaining': verdict.remaining,
    'x-ratelimit-reset': Math.ceil(verdict.reset_ms / 1000),
  });
  if (verdict.allowed) return;
  const retry_after_s = Math.max(1, Math.ceil(verdict.retry_after_ms / 1000));
  throw new ApiError('RATE_LIMITED', `too many ${what}; try again in ${retry_after_s} s`, { retry_after_s });
}

/** The events of a batch; a body of another shape, which is refused, counts as one. */
function countOf({ value }: JsonBody): number {
  const events = (value as { events?: unknown } | null | undefined)?.events;
  return Array.isArray(events) ? Math.min(Math.max(events.length, 1), MAX_BATCH_EVENTS) : 1;
}

/** What an event is checked against; without a promise when the tenant's currencies are cached. */
function contextOf(
  { capabilities }: IntakeDeps,
  { tenant_id, kind }: ApiKeyPrincipal,
  now_ms: number,
): Maybe<ValidationContext> {
  return andThen(capabilities.get(tenant_id), ({ currencies }) => ({
    now_ms,
    kind,
    hasCurrency: (code) => currencies.has(code),
  }));
}

/**
 * Answers with this status once the records are durable. If one of them protects a player, the answer waits for {@link DEPARTURE_MS}
 * more, so that actions that were decided earlier have started. The log joins the appends of concurrent requests.
 */
export function append(
  { eventLog, metrics }: Pick<IntakeDeps, 'eventLog' | 'metrics'>,
  { records, is_protecting }: Accepted,
  reply: FastifyReply,
  { status, answer, onDurable }: { status: 200 | 202; answer: string; onDurable?: () => void },
): void {
  const started_ms = performance.now();
  const accepted = () => {
    metrics.appendSeconds.observe((performance.now() - started_ms) / 1000);
    metrics.eventsAccepted.inc(records.length);
    onDurable?.();
    const send = () => void reply.code(status).header('content-type', JSON_TYPE).send(answer);
    if (is_protecting) setTimeout(send, DEPARTURE_MS);
    else send();
  };
  eventLog.append(TOPICS.events, records).then(accepted, (cause: unknown) => {
    void reply.send(refusalOf(cause));
  });
}

/** The error that the caller receives when the log did not take the records. */
function refusalOf(cause: unknown): unknown {
  if (cause instanceof LogUnavailable) return unavailable(cause);
  if (!(cause instanceof RecordTooLarge)) return cause;
  return new ApiError('PAYLOAD_TOO_LARGE', 'an event is too large for the event log', { cause });
}

function unavailable(cause: LogUnavailable): ApiError {
  const message = 'the event log takes no events now; send them again';
  return new ApiError('INGESTION_UNAVAILABLE', message, { cause, retry_after_s: RETRY_AFTER_S });
}
