import fastify, { type FastifyInstance } from 'fastify';
import type { Platform } from '../platform/platform.ts';
import { installAnswerHeaders, serverOptions } from '../http/server-options.ts';
import { installErrorHandling } from '../http/error-handler.ts';
import { healthEndpoints } from '../http/health.ts';
import type { Readiness } from '../http/readiness.ts';
import { registerPublicEndpoints } from '../http/register.ts';
import { installRequestMetrics } from '../http/request-metrics.ts';

/** The server of a process without the API host: `/healthz`, `/readyz` and `/metrics`. */
export function buildHealthApp(platform: Platform, readiness: Readiness): FastifyInstance {
  const { logger } = platform;
  const app = fastify(serverOptions(logger));
  installRequestMetrics(app, platform.metrics);
  installAnswerHeaders(app);
  installErrorHandling(app, logger);
  registerPublicEndpoints(app, healthEndpoints(platform, readiness));
  return app;
}
