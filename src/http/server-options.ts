import { randomUUID } from 'node:crypto';
import type { Logger } from '../platform/logger.ts';
import { errorOptions } from './error-handler.ts';

const BODY_LIMIT_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;

/**
 * The fastify options of every host of the service: limits, request ids, errors in the envelope. The address of a
 * request is the last one of X-Forwarded-For that is not in `trusted_proxies`, or that of the connection.
 */
export function serverOptions(logger: Logger, trusted_proxies: readonly string[] = []) {
  return {
    ...errorOptions(logger),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    // Duplicate headers are joined, so that a request with two Authorization headers is refused. Otherwise a proxy and
    // this service could each use a different one of them.
    http: { joinDuplicateHeaders: true },
    trustProxy: trusted_proxies.length === 0 ? false : [...trusted_proxies],
    forceCloseConnections: 'idle',
  } as const;
}
