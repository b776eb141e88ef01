import { randomUUID } from 'node:crypto';
import type { Logger } from '../platform/logger.ts';
import { errorOptions } from './error-handler.ts';

const BODY_LIMIT_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;

/** The fastify options of every host of the service: limits, request ids, errors in the envelope. */
export function serverOptions(logger: Logger) {
  return {
    ...errorOptions(logger),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    // Duplicate headers are joined, so that a request with two Authorization headers is refused. Otherwise a proxy and
    // this service could each use a different one of them.
    http: { joinDuplicateHeaders: true },
    forceCloseConnections: 'idle',
  } as const;
}
