import fastify, { type FastifyInstance } from 'fastify';
import type { ApiKeyPrincipal } from '../http/auth/api-key.ts';
import { parseJsonBody } from '../ingest/intake/accept.ts';
import { admitKey, append, applyAddress, registerIntake, type IntakeDeps } from '../ingest/intake/routes.ts';
import type { DialectParts } from '../ingest/segment-dialect/identities.ts';
import { registerSegmentDialect } from '../ingest/segment-dialect/routes.ts';
import type { Logger } from '../platform/logger.ts';
import { installAnswerHeaders, serverOptions } from '../http/server-options.ts';
import { installCors } from '../http/cors.ts';
import { installErrorHandling } from '../http/error-handler.ts';
import { inflatingParser } from '../http/json-body.ts';
import { installLoadShedding } from '../http/load-shedding.ts';
import { installRequestMetrics } from '../http/request-metrics.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The API key of the caller; set before the body is read. */
    apiKey: ApiKeyPrincipal | undefined;
    /** The address of a caller with a client key; set with the key, because it is computed anew whenever `ip` is read. */
    clientAddress: string;
  }
}

const HEALTH_PATH = '/healthz';

/** The ingestion host: event intake (spec part 4), with `dialect` also as Segment's clients send it, and `/healthz` unless that has an address of its own. */
export function buildIntakeApp(
  deps: IntakeDeps,
  logger: Logger,
  {
    has_health = true,
    trusted_proxies = [],
    dialect,
  }: { has_health?: boolean; trusted_proxies?: readonly string[]; dialect?: DialectParts } = {},
): FastifyInstance {
  const app = fastify(serverOptions(logger, trusted_proxies));
  installRequestMetrics(app, deps.metrics);
  installAnswerHeaders(app);
  installCors(app);
  installErrorHandling(app, logger);
  installLoadShedding(app, [HEALTH_PATH]);
  app.decorateRequest('apiKey', undefined);
  app.decorateRequest('clientAddress', '');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, inflatingParser(parseJsonBody));
  if (has_health) app.get(HEALTH_PATH, () => ({ data: { status: 'ok' } }));
  registerIntake(app, deps);
  if (dialect !== undefined) {
    registerSegmentDialect(app, {
      ...deps,
      ...dialect,
      logger,
      admitKey: (...given) => admitKey(deps, ...given),
      append: (...given) => append(deps, ...given),
      applyAddress,
    });
  }
  return app;
}
