import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ZodError } from 'zod';
import { ApiError, validationError, type ErrorCode, type ErrorDetails } from '../errors.ts';
import { LogUnavailable } from '../platform/event-log/port.ts';
import type { Logger } from '../platform/logger.ts';
import { JSON_TYPE } from './envelope.ts';
import { faultsOf } from './schema-fault.ts';
import { isUnavailable } from './unavailable.ts';

const RETRY_AFTER_S = 1;

/** Errors of fastify itself that callers cause. All others with status 400 are reported as malformed bodies. */
const FASTIFY_CODES: Readonly<Record<string, [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'send the body as application/json'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['PAYLOAD_TOO_LARGE', 'the body is over the size limit'],
  FST_ERR_BAD_URL: ['NOT_FOUND', 'the path is not valid'],
  FST_ERR_MAX_PARAM_LENGTH: ['NOT_FOUND', 'the path is not valid'],
};

/** Errors of Node before a request is whole. */
const CONNECTION_ERRORS: Readonly<Record<string, [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'the request line and the headers are over the size limit'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'the request did not arrive whole in time; send it again'],
};

/** Answers every failure with the error envelope of spec part 1, unknown paths and wrong methods included. */
export function installErrorHandling(app: FastifyInstance, logger: Logger): void {
  const routes: { url: string; pattern: RegExp; methods: string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    // A preflight is part of another call.
    if (method === 'OPTIONS') return;
    routes.push({ url, pattern: patternOf(url), methods: Array.isArray(method) ? method : [method] });
  });
  const notFound = (request: FastifyRequest, reply: FastifyReply): ApiError => {
    const path = request.url.split('?', 1)[0] ?? '';
    const matching = routes.filter((route) => route.pattern.test(path));
    // When a route is exactly this path, routes that only match it with a parameter do not count.
    const literal = matching.filter((route) => route.url === path);
    const allowed = (literal.length > 0 ? literal : matching).flatMap((route) => route.methods);
    if (allowed.length === 0) {
      return new ApiError('NOT_FOUND', `there is no ${request.method} ${path.slice(0, 200)}`);
    }
    void reply.header('allow', [...new Set(allowed)].sort().join(', '));
    return new ApiError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here`);
  };
  // An unknown path is refused before the body is read, so that errors in the body do not hide it.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) done(notFound(request, reply));
    else done();
  });
  app.setNotFoundHandler((request, reply) => answerError(request, reply, notFound(request, reply), logger));
  app.setErrorHandler((error, request, reply) => answerError(request, reply, error, logger));
}

/**
 * The part of error handling that is passed to fastify's constructor (`fastify({...errorOptions(logger), …})`): it
 * answers requests that never reach a route.
 */
export function errorOptions(logger: Logger) {
  return {
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      void answerError(request, reply, error, logger);
    },
    clientErrorHandler: (error: Error & { code?: string }, socket: Socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      const [code, message] = CONNECTION_ERRORS[error.code ?? ''] ?? [
        'BODY_MALFORMED',
        'the request is not valid HTTP',
      ];
      const answer = new ApiError(code, message);
      const body = errorBody(answer);
      socket.end(
        `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\nContent-Type: ${JSON_TYPE}\r\n` +
          `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      );
    },
  };
}

/** Converts a thrown value to the error that the caller receives; unexpected errors become INTERNAL_ERROR. */
export function toApiError(thrown: unknown, request_id: string): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof ZodError) return validationError(issuesOf(thrown));
  if (thrown instanceof LogUnavailable) {
    return new ApiError('INGESTION_UNAVAILABLE', 'the event log takes no writes now', { cause: thrown });
  }
  if (isUnavailable(thrown)) {
    return new ApiError('SERVICE_UNAVAILABLE', 'a storage engine does not answer now', { cause: thrown });
  }
  const { code, statusCode } = thrown as Partial<FastifyError>;
  const known = code === undefined ? undefined : FASTIFY_CODES[code];
  if (known !== undefined) return new ApiError(known[0], known[1], { cause: thrown });
  if (statusCode === 400) {
    return new ApiError('BODY_MALFORMED', 'the body is not valid JSON', { cause: thrown });
  }
  const message = `something went wrong; give request id ${request_id} when you report it`;
  return new ApiError('INTERNAL_ERROR', message, { cause: thrown });
}

/** No more are listed: a body may have thousands of unknown keys. */
const MAX_ISSUES = 100;

/** The first faults of a failed zod parse; `sent`: what was parsed, of which they quote values. */
export function issuesOf(error: ZodError, sent?: unknown): { path: string; message: string }[] {
  const issues: { path: string; message: string }[] = [];
  for (const issue of error.issues)
    for (const { path, message } of faultsOf(issue, sent)) {
      issues.push({ path: path.map(String).join('.'), message });
      if (issues.length === MAX_ISSUES) return issues;
    }
  return issues;
}

/** The error envelope as JSON text. */
export function errorBody(error: ApiError): string {
  return JSON.stringify({ error: errorOf(error) });
}

/** What the error envelope has of an error. */
export function errorOf({ code, message, details }: ApiError): Pick<ApiError, 'code' | 'message'> & {
  details?: ErrorDetails;
} {
  return details === undefined ? { code, message } : { code, message, details };
}

/** Answers a failure; `bodyOf` writes the body, by default the error envelope. */
export function answerError(
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
  logger: Logger,
  bodyOf: (error: ApiError) => string = errorBody,
) {
  const error = toApiError(thrown, request.id);
  if (error.status >= 500) {
    const route = request.routeOptions.url ?? null;
    const fields = { err: error.cause ?? error, code: error.code, request_id: request.id, route };
    if (error.status === 500) logger.error(fields, 'request failed');
    else logger.warn(fields, 'request refused: not available');
  }
  const retry_after_s = error.retry_after_s ?? (error.status === 503 ? RETRY_AFTER_S : undefined);
  if (retry_after_s !== undefined) void reply.header('retry-after', String(retry_after_s));
  if (error.status === 401) void reply.header('www-authenticate', 'Bearer');
  return reply.code(error.status).header('x-request-id', request.id).type(JSON_TYPE).send(bodyOf(error));
}

/** Matches the paths of a route such as `/v1/players/:id`. */
function patternOf(url: string): RegExp {
  const source = url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[A-Za-z_]\w*/g, '[^/]+');
  return new RegExp(`^${source}$`);
}
