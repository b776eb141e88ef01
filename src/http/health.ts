import { z } from 'zod';
import type { Platform } from '../platform/platform.ts';
import { endpoint, type AnyEndpoint } from './endpoint.ts';
import { envelope } from './envelope.ts';
import type { Readiness } from './readiness.ts';

/**
 * `/healthz` (the process runs), `/readyz` (it can work, see {@link Readiness}) and `/metrics` (Prometheus).
 */
export function healthEndpoints({ metrics }: Pick<Platform, 'metrics'>, readiness: Readiness): AnyEndpoint[] {
  const access = { mode: 'public' } as const;
  const shared = { method: 'GET', access, load: 'vital' } as const;
  const engines = z.record(z.string(), z.literal('ok'));
  return [
    endpoint({
      ...shared,
      path: '/healthz',
      summary: 'Whether the process runs',
      response: z.object({ status: z.literal('ok') }),
      handle: () => envelope({ status: 'ok' }),
    }),
    endpoint({
      ...shared,
      path: '/readyz',
      summary:
        'Whether the process has started, is not stopping, and the storage engines that it needs answer',
      response: engines,
      errors: ['SERVICE_UNAVAILABLE'],
      handle: async () => envelope(await readiness.check()),
    }),
    endpoint({
      ...shared,
      path: '/metrics',
      summary: 'Metrics of this process, for Prometheus',
      response: z.string(),
      shape: 'raw',
      content_type: metrics.registry.contentType,
      handle: () => metrics.registry.metrics(),
    }),
  ];
}
