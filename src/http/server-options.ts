import { randomUUID } from 'node:crypto';
import type { Logger } from '../platform/logger.ts';
import { errorOptions } from './error-handler.ts';
import type { FastifyInstance } from 'fastify';

/** The longest body of any request: of intake, of webhooks, of operators, and of definitions with long texts or lists. */
export const LARGE_BODY_BYTES = 1024 * 1024;
/** The longest body of all other requests. */
export const BODY_BYTES = 128 * 1024;
/** A request must have arrived whole by then, so that callers who send a byte now and then hold no connection. */
const REQUEST_TIMEOUT_MS = 30_000;
/** How often Node looks for late requests. */
const CHECK_MS = 1_000;

/**
 * The fastify options of every host of the service: limits, request ids, errors in the envelope. The address of a
 * request is the last one of X-Forwarded-For that is not in `trusted_proxies`, or that of the connection.
 */
export function serverOptions(logger: Logger, trusted_proxies: readonly string[] = []) {
  return {
    ...errorOptions(logger),
    bodyLimit: LARGE_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    http: {
      // So that a request with two Authorization headers is refused. Otherwise a proxy and this service could each use a
      // different one of them.
      joinDuplicateHeaders: true,
      // Node looks for late requests only where the limit for the headers is not the longer one.
      headersTimeout: REQUEST_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_MS,
    },
    trustProxy: trusted_proxies.length === 0 ? false : [...trusted_proxies],
    forceCloseConnections: 'idle',
  } as const;
}

/** What every answer says unless its route says otherwise: it may hold personal data or secrets, and is what its type says. */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** Sets {@link ANSWER_HEADERS} on every answer of the host, errors too. Install it before the routes. */
export function installAnswerHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, proceed) => {
    void reply.headers(ANSWER_HEADERS);
    proceed();
  });
}
