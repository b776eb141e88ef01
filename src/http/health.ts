import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { Platform } from '../wiring/platform.ts';
import { endpoint, type AnyEndpoint } from './endpoint.ts';
import { envelope } from './envelope.ts';

const PING_TIMEOUT_MS = 3_000;

/**
 * `/healthz` (the process runs), `/readyz` (it has started and its engines answer) and `/metrics` (Prometheus).
 * `isStarted` must return true once all other parts of this process have started.
 */
export function healthEndpoints(platform: Platform, isStarted: () => boolean): AnyEndpoint[] {
  const access = { mode: 'public' } as const;
  const shared = { method: 'GET', access, status: 200, load: 'vital' } as const;
  const engines = z.record(z.string(), z.literal('ok'));
  return [
    endpoint({
      ...shared,
      path: '/healthz',
      summary: 'Whether the process runs',
      response: z.object({ status: z.literal('ok') }),
      errors: [],
      handle: () => envelope({ status: 'ok' }),
    }),
    endpoint({
      ...shared,
      path: '/readyz',
      summary: 'Whether the service has started and every storage engine answers',
      response: engines,
      errors: ['SERVICE_UNAVAILABLE'],
      handle: async () => {
        if (!isStarted()) {
          throw new ApiError('SERVICE_UNAVAILABLE', 'not ready: the service is starting', {
            details: { service: 'starting' },
          });
        }
        return envelope(await pingEngines(platform));
      },
    }),
    endpoint({
      ...shared,
      path: '/metrics',
      summary: 'Metrics of this process, for Prometheus',
      response: z.string(),
      shape: 'raw',
      content_type: platform.metrics.registry.contentType,
      errors: [],
      handle: () => platform.metrics.registry.metrics(),
    }),
  ];
}

/** Pings every engine. Rejects with SERVICE_UNAVAILABLE; its details say for each engine whether it answered. */
async function pingEngines(platform: Platform): Promise<Record<string, 'ok'>> {
  const pings = {
    postgres: () => platform.postgres.ping(),
    clickhouse: () => platform.clickhouse.ping(),
    event_log: () => platform.eventLog.ping(),
  };
  const results = await Promise.all(
    Object.entries(pings).map(async ([name, ping]) => [name, await answers(name, ping, platform)] as const),
  );
  const failed = results.filter(([, ok]) => !ok).map(([name]) => name);
  if (failed.length > 0) {
    const details = Object.fromEntries(results.map(([name, ok]) => [name, ok ? 'ok' : 'failed']));
    throw new ApiError('SERVICE_UNAVAILABLE', `not ready: ${failed.join(', ')}`, { details });
  }
  return Object.fromEntries(results.map(([name]) => [name, 'ok' as const]));
}

async function answers(name: string, ping: () => Promise<void>, { logger }: Platform): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${PING_TIMEOUT_MS} ms`)), PING_TIMEOUT_MS);
  });
  try {
    await Promise.race([ping(), timeout]);
    return true;
  } catch (error) {
    logger.warn({ err: error, engine: name }, 'engine does not answer');
    return false;
  } finally {
    clearTimeout(timer);
  }
}
