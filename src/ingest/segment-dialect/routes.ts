import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeyAuthenticator, ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import { addressOf, takeOfAddress } from '../../http/auth/address-limit.ts';
import { andThen, onRejection, whenDone, type Maybe } from '../../http/auth/maybe.ts';
import { admitOrigin, DIALECT_CORS } from '../../http/cors.ts';
import { JSON_TYPE } from '../../http/envelope.ts';
import { ApiError } from '../../errors.ts';
import { answerError, errorOf } from '../../http/error-handler.ts';
import { inflatingParser } from '../../http/json-body.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Platform } from '../../platform/platform.ts';
import type { RateVerdict } from '../../platform/rate-limit/port.ts';
import type { TenantCapabilityCache } from '../../tenants/config/capability-cache.ts';
import { parseJsonBody, type Accepted, type JsonBody } from '../intake/accept.ts';
import type { RejectedEvents } from '../rejected/rejected-events.ts';
import { clientOf, noteRejected, refusalNoter } from '../rejected/refusals.ts';
import { acceptCalls, refusalOf, translateAll } from './accept.ts';
import { callsOf, type Calls } from './calls.ts';
import { basicUser, bearerOf } from './credentials.ts';
import { applyIdentities, type DialectParts } from './identities.ts';
import { settingsOf } from './settings.ts';
import { CALL_TYPES, type CallType, type Translated } from './translate.ts';

/** The steps of intake that the dialect shares (`intake/routes.ts`). */
export interface IntakeSteps {
  /** Authenticates by an Authorization header, decides about the origin, and takes a permit of the key. */
  admitKey(
    authorization: string | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
    library?: string | null,
  ): Maybe<ApiKeyPrincipal>;
  /** Throws RATE_LIMITED for a refusal. */
  applyAddress(verdict: RateVerdict | undefined, reply: FastifyReply): void;
  /** Answers once the records are durable. */
  append(
    accepted: Accepted,
    reply: FastifyReply,
    answer: { status: 200; answer: string; onDurable?: () => void },
  ): void;
}

export interface DialectDeps
  extends DialectParts, IntakeSteps, Pick<Platform, 'rateLimiter' | 'clock' | 'metrics' | 'logger'> {
  apiKeys: ApiKeyAuthenticator;
  capabilities: TenantCapabilityCache;
  rejected: Pick<RejectedEvents, 'note'>;
}

/** The paths below `/v1`, with the kind of their call; undefined: of batches. */
const PATHS: readonly (readonly [string, CallType | undefined])[] = [
  ['track', 'track'],
  ['identify', 'identify'],
  ['page', 'page'],
  ['screen', 'screen'],
  ['group', 'group'],
  ['alias', 'alias'],
  ['batch', undefined],
  ['import', undefined],
  ['t', 'track'],
  ['i', 'identify'],
  ['p', 'page'],
  ['s', 'screen'],
  ['g', 'group'],
  ['a', 'alias'],
  ['b', undefined],
];

const SUCCESS = '{"success":true}';
const CONFIG = { cors: DIALECT_CORS } as const;

/**
 * The Segment dialect of the ingestion host (docs/segment-dialect.md): what its clients send, unchanged. Its errors carry `code`
 * and `message` at the top level, too, where some clients look for them.
 */
export function registerSegmentDialect(root: FastifyInstance, deps: DialectDeps): void {
  void root.register((app, _options, done) => {
    app.setErrorHandler((error, request, reply) =>
      answerError(request, reply, error, deps.logger, dialectErrorBody),
    );
    app.removeAllContentTypeParsers();
    // Clients send JSON under several types; some send none.
    app.addContentTypeParser('*', { parseAs: 'buffer' }, inflatingParser(parseJsonBody));
    const route = { onRequest: authenticateBasic(deps), onError: noteRefusal(deps), config: CONFIG };
    for (const [path, type] of PATHS) {
      for (const url of withSlash(`/v1/${path}`)) {
        app.post(url, route, (request, reply) => {
          onRejection(handle(deps, { request, reply, type }), (error) => reply.send(error));
        });
      }
    }
    // Metrics of the clients themselves.
    for (const url of withSlash('/v1/m'))
      app.post(url, { config: CONFIG }, (_request, reply) => answer(reply, SUCCESS));
    app.get<{ Params: { key: string } }>(
      '/v1/projects/:key/settings',
      { config: CONFIG },
      (request, reply) => {
        const answered = andThen(settingsFor(deps, request, reply), (text) => answer(reply, text));
        onRejection(answered, (error) => reply.send(error));
      },
    );
    done();
  });
}

function withSlash(url: string): string[] {
  return [url, `${url}/`];
}

function answer(reply: FastifyReply, text: string): void {
  void reply.header('content-type', JSON_TYPE).send(text);
}

function dialectErrorBody(error: ApiError): string {
  const { code, message } = error;
  return JSON.stringify({ success: false, code, message, error: errorOf(error) });
}

/** A key in a Basic header is checked before the body is read. */
function authenticateBasic(deps: DialectDeps) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    // The key may be in the body, and a body may be inflated later than its connection ends.
    addressOf(request);
    const user = basicUser(request.headers.authorization);
    if (user === undefined) done();
    else whenDone(() => deps.admitKey(`Bearer ${user}`, request, reply, null), done);
  };
}

/** Notes requests that are refused as a whole; single calls are noted where they are refused. */
function noteRefusal({ rejected }: DialectDeps) {
  const note = refusalNoter(
    rejected,
    ({ apiKey }: FastifyRequest) => apiKey,
    () => undefined,
  );
  return (request: FastifyRequest, reply: FastifyReply, error: Error, done: () => void): void => {
    if (error instanceof ApiError && error.details?.['rejected'] !== undefined) done();
    else note(request, reply, error, done);
  };
}

interface Received {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Undefined: a batch. */
  type: CallType | undefined;
}

function handle(deps: DialectDeps, received: Received): Maybe<void> {
  const { request, reply, type } = received;
  if (request.body === undefined) throw new ApiError('BODY_MALFORMED', 'a JSON body is required');
  const calls = callsOf(request.body as JsonBody, type);
  return andThen(keyOf(deps, request, reply, calls), (key) =>
    andThen(takeOfAddress(deps.rateLimiter, key, addressOf(request), calls.calls.length), (verdict) => {
      deps.applyAddress(verdict, reply);
      return accept(deps, received, key, calls);
    }),
  );
}

/** The name of a call, or else its kind, as it was sent. */
function nameInCall(call: unknown): unknown {
  const { event, type } = (call ?? {}) as { event?: unknown; type?: unknown };
  return event ?? type;
}

/** The key of a Basic header, which is checked already; else of the body, or of a Bearer header. */
function keyOf(
  deps: DialectDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { write_key, library }: Calls,
): Maybe<ApiKeyPrincipal> {
  const key = request.apiKey;
  if (key === undefined)
    return deps.admitKey(bearerOf(write_key, request.headers.authorization), request, reply, library);
  const client = deps.apiKeys.noteUse(key, { headers: request.headers, library });
  deps.metrics.intakeClients.inc({ library: client });
  return key;
}

function accept(deps: DialectDeps, received: Received, key: ApiKeyPrincipal, calls: Calls): Maybe<void> {
  const { request, reply, type } = received;
  return andThen(deps.capabilities.get(key.tenant_id), (tenant) => {
    const now_ms = deps.clock.now_ms();
    const { translated, are_players_known } = translateAll(deps, { key, tenant, calls, type, now_ms });
    const finish = () => {
      const { rejected, ...accepted } = acceptCalls(key, translated, now_ms);
      noteRejected(deps, rejected, {
        key,
        events: calls.calls,
        clientOf: () => calls.library ?? clientOf(request),
        nameOf: nameInCall,
      });
      const counted = { calls: calls.calls, type, translated };
      countCalls(deps.metrics, counted, 'rejected');
      if (rejected.length === translated.length) throw refusalOf(rejected, calls.is_batch);
      const text = rejected.length === 0 ? SUCCESS : JSON.stringify({ success: true, rejected });
      const onDurable = () => countCalls(deps.metrics, counted, 'accepted');
      if (accepted.records.length > 0)
        return deps.append(accepted, reply, { status: 200, answer: text, onDurable });
      onDurable();
      answer(reply, text);
    };
    return are_players_known ? finish() : applyIdentities(deps, key, translated).then(finish);
  });
}

/** Counts those calls of a request that had this outcome, by their type; `other`: they have none that we know. */
function countCalls(
  { segmentCalls }: Pick<Metrics, 'segmentCalls'>,
  { calls, type, translated }: CountedCalls,
  outcome: 'accepted' | 'rejected',
): void {
  const counts = new Map<string, number>();
  for (const [i, { kind }] of translated.entries()) {
    if ((kind === 'rejected') !== (outcome === 'rejected')) continue;
    const name = type ?? typeIn(calls[i]);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const [name, count] of counts) segmentCalls.inc({ type: name, outcome }, count);
}

interface CountedCalls {
  calls: readonly unknown[];
  /** Undefined: a batch, whose calls say it themselves. */
  type: CallType | undefined;
  translated: readonly Translated[];
}

function typeIn(call: unknown): CallType | 'other' {
  const { type } = (call ?? {}) as { type?: unknown };
  return CALL_TYPES.find((known) => known === type) ?? 'other';
}

/** The settings for pages that use a client key; a server key does not belong in a page, so nothing says that it is one. */
function settingsFor(
  deps: DialectDeps,
  request: FastifyRequest<{ Params: { key: string } }>,
  reply: FastifyReply,
): Maybe<string> {
  const { key } = request.params;
  const host = deps.publicHost ?? {
    protocol: request.protocol,
    host: request.host,
  };
  const unknown = () => new ApiError('NOT_FOUND', 'there is no client key like this');
  const found = (principal: ApiKeyPrincipal): string => {
    if (principal.kind !== 'client') throw unknown();
    admitOrigin(principal, request, reply);
    return JSON.stringify(settingsOf(key, host));
  };
  const refused = (error: unknown): never => {
    throw error instanceof ApiError && error.code === 'UNAUTHORIZED' ? unknown() : error;
  };
  try {
    const principal = deps.apiKeys.authenticate(`Bearer ${key}`, request);
    return principal instanceof Promise ? principal.then(found, refused) : found(principal);
  } catch (error) {
    return refused(error);
  }
}
