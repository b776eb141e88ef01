import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { systemResource } from './schema.ts';
import { Systems, type SystemDeps } from './system.ts';

/** Whether the service keeps up: what operators read from metrics, as far as it is not about other tenants. */
export function systemEndpoints(deps: SystemDeps): AnyEndpoint[] {
  const systems = new Systems(deps);
  return [
    endpoint({
      method: 'GET',
      path: '/v1/system',
      summary:
        'Engines, lag, the waiting work of the tenant, its jobs that were given up, and the last reconciliation',
      access: { mode: 'session', role: 'admin', scope: 'tenant' },
      load: 'slow',
      response: systemResource,
      handle: async ({ caller }) => envelope(await systems.of(caller.tenant_id)),
    }),
  ];
}
