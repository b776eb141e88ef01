import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../platform/metrics.ts';
import { EVENT_STREAM } from './event-stream.ts';

/** What paths and methods that no route has are called: they are what callers write. */
const NO_ROUTE = { route: 'none', method: 'any' } as const;

/**
 * Measures every answer of the host by the pattern of its route, never by its URL. Event streams are omitted: they last as
 * long as somebody looks. Install it before the routes.
 */
export function installRequestMetrics(app: FastifyInstance, metrics: Pick<Metrics, 'requestSeconds'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.raw.getHeader('content-type') !== EVENT_STREAM) {
      const { url: route } = request.routeOptions;
      const labels = request.is404 || route === undefined ? NO_ROUTE : { route, method: request.method };
      metrics.requestSeconds.observe({ ...labels, status: reply.statusCode }, reply.elapsedTime / 1_000);
    }
    done();
  });
}
