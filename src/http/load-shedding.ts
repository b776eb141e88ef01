import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';

/**
 * The mean delay of the event loop over a second at which requests are refused. Every request waits several times as
 * long then, and most callers have given up before they are answered.
 */
const MAX_DELAY_MS = 1_000;
const RETRY_AFTER_S = 2;

/**
 * Refuses requests with SERVICE_UNAVAILABLE while the event loop is late, before they are authenticated or read; except
 * those of the paths in `vital`. Register it before routes.
 */
export function installLoadShedding(app: FastifyInstance, vital: readonly string[]): void {
  const spared = new Set(vital);
  void app.register(underPressure, {
    maxEventLoopDelay: MAX_DELAY_MS,
    pressureHandler({ routeOptions }) {
      if (routeOptions.url !== undefined && spared.has(routeOptions.url)) return undefined;
      const refusal = new ApiError('SERVICE_UNAVAILABLE', 'the service is overloaded; try again later', {
        retry_after_s: RETRY_AFTER_S,
      });
      return Promise.reject(refusal);
    },
  });
}
