import { randomUUID } from 'node:crypto';
import type { Logger } from '../platform/logger.ts';
import { errorOptions } from './error-handler.ts';

const BODY_LIMIT_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;

/** How every host of the service listens: limits, request ids, errors in the envelope. */
export function serverOptions(logger: Logger) {
  return {
    ...errorOptions(logger),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    // A second Authorization header makes the first one unusable: which of them counts must not depend on who reads.
    http: { joinDuplicateHeaders: true },
    forceCloseConnections: 'idle',
  } as const;
}
