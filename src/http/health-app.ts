import { randomUUID } from 'node:crypto';
import fastify, { type FastifyInstance } from 'fastify';
import type { Platform } from '../wiring/platform.ts';
import { errorOptions, installErrorHandling } from './error-handler.ts';
import { healthEndpoints } from './health.ts';
import { registerPublicEndpoints } from './register.ts';

const REQUEST_TIMEOUT_MS = 30_000;

/** What a process without the API host serves on its port: whether it is well, and its metrics. */
export function buildHealthApp(platform: Platform, isStarted: () => boolean): FastifyInstance {
  const { logger } = platform;
  const app = fastify({
    ...errorOptions(logger),
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    forceCloseConnections: 'idle',
  });
  installErrorHandling(app, logger);
  registerPublicEndpoints(app, healthEndpoints(platform, isStarted));
  return app;
}
