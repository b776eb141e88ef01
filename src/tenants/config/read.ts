import type { Tx } from '../../platform/postgres/port.ts';
import { selectTenantConfig, type StoredTenantConfig } from './queries.ts';
import type { TenantSettings } from './schema.ts';

/** A tenant's settings, and the currency of its totals. */
export interface TenantConfig extends TenantSettings {
  base_currency: string;
}

/**
 * The settings of a tenant that never configured anything. No system is declared to keep the KYC status, so no KYC
 * webhook is accepted.
 */
export const UNCONFIGURED: TenantSettings = {
  license_jurisdiction: null,
  verticals: [],
  kyc_model: 'none',
  config: {},
};

/** The settings as the audit log shows them. */
export function settingsImage({
  license_jurisdiction,
  verticals,
  kyc_model,
  config,
}: TenantSettings): TenantSettings {
  return { license_jurisdiction, verticals, kyc_model, config };
}

/** The tenant's present configuration; rejects when the tenant does not exist. */
export async function readTenantConfig(sql: Tx, tenant_id: string): Promise<TenantConfig> {
  return foundConfig(await selectTenantConfig(sql, tenant_id), tenant_id);
}

/** The configuration in the rows of {@link selectTenantConfig}; throws when there is no such tenant. */
export function foundConfig([row]: readonly StoredTenantConfig[], tenant_id: string): TenantConfig {
  if (row === undefined) throw new Error(`tenant ${tenant_id} does not exist`);
  return row.kyc_model === null ? { ...UNCONFIGURED, base_currency: row.base_currency } : row;
}
