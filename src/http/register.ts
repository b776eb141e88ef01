import { setMaxListeners } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Authenticators } from './auth/authenticators.ts';
import { takeOfAddress } from './auth/address-limit.ts';
import { andThen, whenDone, type Maybe } from './auth/maybe.ts';
import { describeNeeded, roleAllows } from './auth/roles.ts';
import type { SessionPrincipal, UserPrincipal } from './auth/session.ts';
import type { Config } from '../config.ts';
import { ApiError, validationError } from '../errors.ts';
import type { RateLimiter, RatePolicy, RateVerdict } from '../platform/rate-limit/port.ts';
import {
  auditedCall,
  createAuditChange,
  type AuditChange,
  type AuditedCall,
  type WriteAuditRows,
  entityTagOf,
  requireVersion,
} from './audit.ts';
import { admitOrigin, NATIVE_CORS } from './cors.ts';
import type { Access, AnyEndpoint, Call, SessionOrInternal, SignedRequest } from './endpoint.ts';
import { JSON_TYPE } from './envelope.ts';
import { issuesOf } from './error-handler.ts';
import { EVENT_STREAM, openEventStream } from './event-stream.ts';
import { isUuid } from '../platform/ids.ts';
import {
  createRunSaga,
  createOnce,
  createReplay,
  type IdempotencyDeps,
  type KeyedRequest,
} from './idempotency.ts';
import { refuseUnstorable } from './json-body.ts';
import { EndpointBulkhead, GROUPED_LIMITS, LIMITS, SLOW_LIMITS, UNBOUNDED } from './endpoint-bulkhead.ts';
import { PreparedAnswer } from './prepared-answer.ts';
import { BODY_BYTES, LARGE_BODY_BYTES } from './server-options.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the handler runs; its type follows from the endpoint's access. */
    caller: unknown;
  }
}

/** The parts that check each request before its handler: authentication, rate limits and idempotency. */
export interface Guards {
  auth: Authenticators;
  rate_limiter: RateLimiter;
  rates: Config['rates'];
  idempotency: IdempotencyDeps;
  writeAuditRows: WriteAuditRows;
}

/** Registers the endpoints. The caller is authenticated, authorised and rate-limited before the body is read. */
export function registerEndpoints(
  app: FastifyInstance,
  endpoints: readonly AnyEndpoint[],
  guards: Guards,
): void {
  app.decorateRequest('caller', undefined);
  const authorise = createAuthoriser(guards);
  const closing = new AbortController();
  // Every request that lasts listens to it.
  setMaxListeners(0, closing.signal);
  app.addHook('preClose', (done) => {
    closing.abort();
    done();
  });
  for (const endpoint of endpoints) {
    requireAuditDeclaration(endpoint);
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      config: {
        raw_types: endpoint.raw_types,
        inflates: endpoint.from_pages,
        cors: endpoint.from_pages === true ? NATIVE_CORS : undefined,
      },
      bodyLimit: bodyLimitOf(endpoint),
      onRequest: (request, reply, proceed) => {
        const setCaller = (caller: unknown) => {
          request.caller = caller;
        };
        whenDone(() => andThen(authorise(endpoint.access, request, reply), setCaller), proceed);
      },
      handler: handlerOf(endpoint, { ...guards, recheck: authorise.again }, closing.signal),
    });
  }
}

function bodyLimitOf({ max_body_bytes, access: { mode } }: AnyEndpoint): number {
  return max_body_bytes ?? (mode === 'webhook' || mode === 'internal' ? LARGE_BODY_BYTES : BODY_BYTES);
}

/** Registers public endpoints on a host without guards. Throws TypeError when an endpoint is not public. */
export function registerPublicEndpoints(app: FastifyInstance, endpoints: readonly AnyEndpoint[]): void {
  for (const endpoint of endpoints) {
    const { access, method, path } = endpoint;
    if (access.mode !== 'public') throw new TypeError(`${method} ${path} is not public`);
    app.route({ method, url: path, handler: handlerOf(endpoint) });
  }
}

/**
 * Throws TypeError when an endpoint that may change something does not declare how its changes are recorded, or when
 * one declares it whose callers have no session and no internal secret: an audit row could not name them.
 */
function requireAuditDeclaration({ method, path, access, audit }: AnyEndpoint): void {
  const hasActor = ['session', 'session_or_internal', 'internal', 'user'].includes(access.mode);
  const changes = method !== 'GET' && hasActor;
  if (changes && audit === undefined) throw new TypeError(`${method} ${path} must declare its audit rows`);
  if (!hasActor && audit !== undefined)
    throw new TypeError(`${method} ${path} cannot declare audit rows: its access is ${access.mode}`);
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

type HandlerGuards = Pick<Guards, 'idempotency' | 'writeAuditRows' | 'rates'> & {
  recheck: Authorise['again'];
};

function handlerOf(endpoint: AnyEndpoint, guards?: HandlerGuards, closing?: AbortSignal): Handler {
  if (endpoint.idempotent === true) return idempotentHandlerOf(endpoint, guards, closing);
  const bulkhead = bulkheadOf(endpoint, guards?.rates);
  const is_stream = endpoint.content_type === EVENT_STREAM;
  return (request, reply) => {
    const call = callOf(endpoint, { request, reply, guards, closing });
    const body = bulkhead.run(scopeOf(request).tenant_id, () => endpoint.handle(call));
    setHead(endpoint, endpoint.status, request, reply);
    if (body instanceof PreparedAnswer) return body.bodyFor(request, reply);
    if (!is_stream) return body instanceof Promise ? body : reply.send(body);
    return andThen(body, (stream) => {
      if (typeof stream !== 'function') return reply.send(stream);
      openEventStream(reply.hijack().raw, stream, { request_id: request.id, closing });
      return undefined;
    });
  };
}

function idempotentHandlerOf(
  endpoint: AnyEndpoint,
  guards: HandlerGuards | undefined,
  closing: AbortSignal | undefined,
): Handler {
  const { method, path, status } = endpoint;
  if (guards === undefined)
    throw new TypeError(`${method} ${path} is idempotent, but this host has no idempotency records`);
  const bulkhead = bulkheadOf(endpoint, guards.rates);
  return async (request, reply) => {
    const call = callOf(endpoint, { request, reply, guards, closing });
    const { tenant_id, project_id } = scopeOf(request);
    const keyed: KeyedRequest = {
      route: `${method} ${path}`,
      key: single(request.headers['idempotency-key']),
      project_id,
      params: request.params,
      query: endpoint.query === undefined ? undefined : request.query,
      body: request.rawBody,
      status,
    };
    let replayed: number | undefined;
    const onReplay = (before: number) => {
      replayed = before;
      // Errors are answered elsewhere.
      void reply.header('idempotent-replayed', 'true');
    };
    const once = createOnce(guards.idempotency, keyed, onReplay);
    const runSaga = createRunSaga(guards.idempotency, keyed, onReplay);
    const replay = createReplay(guards.idempotency, keyed, onReplay);
    const body = await bulkhead.run(tenant_id, () => endpoint.handle({ ...call, once, runSaga, replay }));
    setHead(endpoint, replayed ?? status, request, reply);
    return body;
  };
}

/**
 * Calls of operators are few, and some take minutes. The burst that one caller's rate allows finds room in the line, of
 * which a tenant may take half.
 */
function bulkheadOf({ load, access }: AnyEndpoint, rates?: Config['rates']): EndpointBulkhead {
  if (load === 'slow') return new EndpointBulkhead(SLOW_LIMITS);
  const limits = load === 'grouped' ? GROUPED_LIMITS : LIMITS;
  if ((load !== undefined && load !== 'grouped') || access.mode === 'internal')
    return new EndpointBulkhead(UNBOUNDED);
  const bursts = rates === undefined ? [] : [rates.identify.burst, rates.admin.burst];
  const max_waiting = Math.max(limits.waiting.max_waiting, ...bursts.map((burst) => 2 * burst));
  return new EndpointBulkhead({ ...limits, waiting: { ...limits.waiting, max_waiting } });
}

function setHead(endpoint: AnyEndpoint, status: number, request: FastifyRequest, reply: FastifyReply): void {
  const type = endpoint.content_type ?? JSON_TYPE;
  void reply.code(status).header('content-type', type).header('x-request-id', request.id);
  if (endpoint.headers !== undefined) void reply.headers(endpoint.headers);
}

function callOf(
  endpoint: AnyEndpoint,
  parts: {
    request: FastifyRequest;
    reply: FastifyReply;
    guards: HandlerGuards | undefined;
    closing: AbortSignal | undefined;
  },
): Call<undefined, unknown, unknown> {
  const { request, reply, guards, closing } = parts;
  return {
    ...readCall(endpoint, request, guards),
    sendVersion: (image) => void reply.header('etag', entityTagOf(image)),
    sendFileName: (name) => void reply.header('content-disposition', `attachment; filename="${name}"`),
    leaves: () => leavingOf(reply, closing),
  };
}

function readCall(
  endpoint: AnyEndpoint,
  request: FastifyRequest,
  guards: HandlerGuards | undefined,
): Omit<Call<undefined, unknown, unknown>, 'leaves' | 'sendVersion' | 'sendFileName'> {
  const { query, body } = endpoint;
  endpoint.refuse?.(request.body);
  return {
    // The type of the caller follows from the endpoint's access, which the handler was declared with.
    caller: (endpoint.access.mode === 'webhook' ? signedRequest(request) : request.caller) as undefined,
    params: request.params as Record<string, string>,
    headers: request.headers,
    query: query === undefined ? undefined : checked(query, request.query),
    body: body === undefined ? undefined : checked(body, requireBody(body, request.body)),
    audit: auditChangeOf(endpoint, request, guards),
    audited: () => auditedCallOf(endpoint, request),
    recheck: async () => guards?.recheck(endpoint.access, request),
  };
}

/** Aborted when the connection of the reply ends before it is written, or `closing` is. */
function leavingOf(reply: FastifyReply, closing: AbortSignal | undefined): AbortSignal {
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  if (closing?.aborted === true) leave();
  closing?.addEventListener('abort', leave, { once: true });
  reply.raw.once('close', () => {
    closing?.removeEventListener('abort', leave);
    if (!reply.raw.writableFinished) leave();
  });
  return leaving.signal;
}

function auditChangeOf(
  endpoint: AnyEndpoint,
  request: FastifyRequest,
  guards: HandlerGuards | undefined,
): AuditChange {
  if (guards === undefined)
    return () =>
      Promise.reject(new TypeError('this host has no authentication, so it cannot record changes'));
  const write = createAuditChange(guards.writeAuditRows, () => auditedCallOf(endpoint, request));
  const if_match = single(request.headers['if-match']);
  if (endpoint.versioned !== true || endpoint.method !== 'PATCH' || if_match === undefined) return write;
  // In the transaction of the change, which holds the record's row: it is rolled back when this throws.
  return async (tx, change) => {
    const { as, before, version = before } = change;
    if (as === undefined && version !== null) requireVersion(if_match, version);
    await write(tx, change);
  };
}

function auditedCallOf({ access, audit }: AnyEndpoint, { caller, id, params }: FastifyRequest): AuditedCall {
  const has_caller = access.mode === 'session' || access.mode === 'session_or_internal';
  const acting =
    access.mode === 'user' ? actingUser(caller as UserPrincipal, params) : has_caller ? caller : {};
  // With the internal secret both are null.
  const { user_id = null, role = null } = (acting ?? {}) as Partial<SessionOrInternal>;
  const session = user_id === null || role === null ? null : { user_id, role };
  return auditedCall(audit, { session, request_id: id });
}

/** What a user is, or is invited as, in the tenant that the path names. */
function actingUser(
  { memberships, invitations }: UserPrincipal,
  params: unknown,
): SessionPrincipal | undefined {
  const { tenant_id = '' } = params as { tenant_id?: string };
  return [...memberships, ...invitations].find((one) => one.tenant_id === tenant_id.toLowerCase());
}

/** The tenant and the project of the caller, as far as they are known. */
function scopeOf({ caller }: FastifyRequest): { tenant_id?: string; project_id?: string } {
  return caller ?? {};
}

function signedRequest({ url, headers, rawBody = Buffer.alloc(0) }: FastifyRequest): SignedRequest {
  return { url, headers, body: rawBody };
}

/** A schema that accepts undefined makes the body optional. */
function requireBody(schema: z.ZodType, body: unknown): unknown {
  if (body === undefined && schema.safeParse(undefined).success) return body;
  if (body === undefined || body === null) {
    throw new ApiError('BODY_MALFORMED', 'a JSON body is required (Content-Type: application/json)');
  }
  return body;
}

function checked(schema: z.ZodType, value: unknown): unknown {
  refuseUnstorable(value);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw validationError(issuesOf(parsed.error, value));
  return parsed.data;
}

interface Authorise {
  (access: Access, request: FastifyRequest, reply: FastifyReply): Maybe<unknown>;
  /** Checks a session again, without its rate; nothing for other kinds of access. */
  again: (access: Access, request: FastifyRequest) => Promise<void>;
}

function createAuthoriser({ auth, rate_limiter, rates }: Guards): Authorise {
  const adminPolicy: RatePolicy = { name: 'admin', ...rates.admin };
  const authoriseKey = createKeyAuthoriser({ auth, rate_limiter, rates });
  const withinAdmin = <T>(key: string, caller: T) =>
    within(rate_limiter.takeInWindow(adminPolicy, key), caller);
  const authoriseSession = (access: SessionAccess, request: FastifyRequest) => {
    const caller = auth.sessions.authenticate(request, named(access, request, 'tenant'));
    return andThen(caller, (session) =>
      andThen(withinAdmin(`${session.tenant_id}/${session.user_id}`, session), () => {
        requireRole(session, access);
        if (access.scope === 'tenant') return session;
        const project = auth.projects.resolve(session.tenant_id, named(access, request, 'project'));
        return andThen(project, (project_id) => ({ ...session, project_id }));
      }),
    );
  };
  const authoriseUser = (request: FastifyRequest) =>
    andThen(auth.sessions.authenticateUser(request), (user) => withinAdmin(user.user_id, user));
  const authoriseInternal = (headers: IncomingHttpHeaders): Maybe<SessionOrInternal> => {
    auth.checkInternalSecret(single(headers['x-internal-secret']));
    const ids = [single(headers['x-tenant-id']), single(headers['x-project-id'])] as const;
    const [tenant_id = '', project_id = ''] = ids;
    const issues = (['X-Tenant-Id', 'X-Project-Id'] as const)
      .filter((_, i) => !isUuid(ids[i] ?? ''))
      .map((path) => ({ path, message: 'must be a UUID; with the internal secret it is required' }));
    if (issues.length > 0) throw validationError(issues);
    const tenant = tenant_id.toLowerCase();
    return andThen(auth.projects.ofTenant(tenant, project_id), (project) => ({
      user_id: null,
      role: null,
      tenant_id: tenant,
      project_id: project,
    }));
  };
  const again: Authorise['again'] = async (access, request) => {
    if (access.mode !== 'session') return;
    requireRole(await auth.sessions.authenticate(request, named(access, request, 'tenant')), access);
  };
  const authorise = (access: Access, request: FastifyRequest, reply: FastifyReply): Maybe<unknown> => {
    const { headers } = request;
    if (access.mode === 'session') return authoriseSession(access, request);
    if (access.mode === 'user') return authoriseUser(request);
    if (access.mode === 'session_or_internal') {
      const { role } = access;
      return headers['x-internal-secret'] === undefined
        ? authoriseSession({ mode: 'session', role, scope: 'project' }, request)
        : authoriseInternal(headers);
    }
    if (access.mode === 'api_key') return authoriseKey(access, request, reply);
    if (access.mode === 'internal') {
      auth.checkInternalSecret(single(headers['x-internal-secret']));
    }
    return undefined;
  };
  return Object.assign(authorise, { again });
}

/** The caller with an API key, within the rates of the key and, for a client key, of its address. */
function createKeyAuthoriser({ auth, rate_limiter, rates }: Pick<Guards, 'auth' | 'rate_limiter' | 'rates'>) {
  const policy: RatePolicy = { name: 'identify', ...rates.identify };
  return ({ rate, kind }: Access & { mode: 'api_key' }, request: FastifyRequest, reply: FastifyReply) => {
    // Now: a connection that has ended meanwhile has no address.
    const { ip, headers } = request;
    return andThen(auth.api_keys.authenticate(headers.authorization, { ip, headers }), (key) => {
      admitOrigin(key, request, reply);
      if (kind === 'server' && key.kind === 'client')
        throw new ApiError('KEY_KIND_FORBIDDEN', 'this needs a server key; yours is a client key');
      if (rate === 'none') return key;
      return andThen(within(rate_limiter.take(policy, key.key_id), key), () =>
        within(takeOfAddress(rate_limiter, key, ip, 1), key),
      );
    });
  };
}

/** The caller, once the permits are taken. */
function within<T>(taken: Maybe<RateVerdict | undefined>, caller: T): Maybe<T> {
  return andThen(taken, (verdict) => {
    if (verdict?.allowed === false) throw rateLimited(verdict);
    return caller;
  });
}

type SessionAccess = Extract<Access, { mode: 'session' }>;

/**
 * The tenant or the project that a request names: by the header or, where the access says so, by the query. Throws
 * VALIDATION_ERROR when the two differ.
 */
function named(
  { named_in }: SessionAccess,
  { headers, query }: FastifyRequest,
  what: 'tenant' | 'project',
): string | undefined {
  const header = single(headers[`x-${what}-id`]);
  const path = `${what}_id`;
  const parameter = named_in === 'query' ? (query as Record<string, unknown>)[path] : undefined;
  if (parameter === undefined) return header;
  if (typeof parameter !== 'string' || (header !== undefined && header !== parameter))
    throw validationError([{ path, message: 'must be given once, and be what the header says' }]);
  return parameter;
}

function requireRole(session: SessionPrincipal, access: SessionAccess): void {
  if (roleAllows(session.role, access.role)) return;
  throw new ApiError(
    'FORBIDDEN',
    `this needs the role ${describeNeeded(access.role)}; yours is ${session.role}`,
  );
}

function rateLimited({ retry_after_ms }: RateVerdict): ApiError {
  const retry_after_s = Math.max(1, Math.ceil(retry_after_ms / 1000));
  return new ApiError('RATE_LIMITED', `too many requests; try again in ${retry_after_s} s`, {
    retry_after_s,
  });
}

/** Joins a header that was sent several times; the joined text then fails the check of that header. */
function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
