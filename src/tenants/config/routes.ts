import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { TenantCapabilityCache } from './capability-cache.ts';
import { CATALOGUE } from './catalogue.ts';
import { changeTenantConfig, type IsEventName, type OnLicenseChange } from './change.ts';
import { readOwnConfig, settingsImage } from './read.ts';
import { patchTenantConfigBody, tenantConfigResource, type TenantConfig } from './schema.ts';

interface Deps {
  postgres: Postgres;
  notifications: Notifications;
  capabilities: Pick<TenantCapabilityCache, 'evict'>;
  onLicenseChange: OnLicenseChange;
  isEventName: IsEventName;
}

/** Tenant config (spec part 4). */
export function tenantConfigEndpoints(deps: Deps): AnyEndpoint[] {
  const shared = {
    path: '/v1/tenant/config',
    access: { mode: 'session', role: 'admin', scope: 'tenant' },
    response: tenantConfigResource,
    versioned: true,
  } as const;
  return [
    endpoint({
      ...shared,
      method: 'GET',
      summary: 'The configuration of the tenant, and the catalogue of possible values',
      handle: async ({ caller: { tenant_id }, sendVersion }) => {
        const found = await readOwnConfig(deps.postgres, tenant_id);
        sendVersion(settingsImage(found));
        return answer(found);
      },
    }),
    endpoint({
      ...shared,
      method: 'PATCH',
      summary: 'Changes the configuration; `config` is merged deeply, arrays are replaced, null removes',
      body: patchTenantConfigBody,
      audit: { resource: 'tenant_config', action: 'update' },
      refuse: refuseUnwritable(new Set(['base_currency', 'catalogue'])),
      errors: ['FIELD_NOT_WRITABLE'],
      handle: async ({ caller, body, audit, sendVersion }) => {
        const changed = await changeTenantConfig({ ...deps, audit }, caller.tenant_id, body);
        sendVersion(settingsImage(changed));
        return answer(changed);
      },
    }),
  ];
}

function answer({ license_jurisdiction, verticals, kyc_model, config, base_currency }: TenantConfig): string {
  return envelope({
    license_jurisdiction,
    verticals,
    kyc_model,
    config,
    base_currency,
    catalogue: CATALOGUE,
  });
}
