import { randomUUID } from 'node:crypto';
import fastify, { type FastifyInstance } from 'fastify';
import type { ApiKeyPrincipal } from '../auth/api-key.ts';
import { parseJsonBody } from '../intake/body.ts';
import { registerIntake, type IntakeDeps } from '../intake/routes.ts';
import type { Logger } from '../platform/logger.ts';
import { errorOptions, installErrorHandling } from './error-handler.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends events; set before the body is read. */
    apiKey: ApiKeyPrincipal | undefined;
  }
}

const BODY_LIMIT_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;

/** The ingestion host: event intake only (spec part 4). */
export function buildIntakeApp(deps: IntakeDeps, logger: Logger): FastifyInstance {
  const app = fastify({
    ...errorOptions(logger),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    forceCloseConnections: 'idle',
  });
  installErrorHandling(app, logger);
  app.decorateRequest('apiKey', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, raw, done) => {
    try {
      done(null, parseJsonBody(raw as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  app.get('/healthz', () => ({ data: { status: 'ok' } }));
  registerIntake(app, deps);
  return app;
}
