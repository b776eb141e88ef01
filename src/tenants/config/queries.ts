import type { PendingQuery } from 'postgres';
import { textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { KycModel } from './catalogue.ts';
import type { TenantConfig, TenantSettings } from './schema.ts';

/**
 * The tenant's configuration: one row, or none when the tenant does not exist. A tenant that never configured anything has
 * declared no system that keeps the KYC status, so no KYC webhook is accepted.
 */
export function selectTenantConfig(sql: Tx, tenant_id: string): PendingQuery<TenantConfig[]> {
  return sql<TenantConfig[]>`
    select t.base_currency, c.license_jurisdiction, coalesce(c.verticals, '{}') as verticals,
      coalesce(c.kyc_model, 'none') as kyc_model, coalesce(c.config, '{}') as config
    from tenants t
    left join tenant_configs c on c.tenant_id = t.tenant_id
    where t.tenant_id = ${tenant_id}`;
}

/** The chosen system that keeps the KYC status; null or no row: none was chosen. */
export function selectChosenKycModel(
  sql: Tx,
  tenant_id: string,
): PendingQuery<{ kyc_model: KycModel | null }[]> {
  return sql<{ kyc_model: KycModel | null }[]>`
    select case when is_kyc_model_chosen then kyc_model end as kyc_model
    from tenant_configs
    where tenant_id = ${tenant_id}`;
}

/** Inserts the tenant's row if it has none. Waits for a concurrent transaction that inserts it. */
export async function insertTenantConfig(tx: Tx, tenant_id: string): Promise<void> {
  await tx`
    insert into tenant_configs (tenant_id, license_jurisdiction, verticals, kyc_model, config)
    select ${tenant_id}, license_jurisdiction, verticals, kyc_model, config
    from (${selectTenantConfig(tx, tenant_id)}) c
    on conflict (tenant_id) do nothing`;
}

/** The tenant's settings; the row is locked until the transaction ends. */
export function lockTenantSettings(tx: Tx, tenant_id: string): PendingQuery<TenantSettings[]> {
  return tx<TenantSettings[]>`
    select license_jurisdiction, verticals, kyc_model, config
    from tenant_configs
    where tenant_id = ${tenant_id}
    for no key update`;
}

/** `chooses_kyc_model`: the change names a model; from then on one is chosen. */
export async function updateTenantConfig(
  tx: Tx,
  tenant_id: string,
  settings: TenantSettings,
  chooses_kyc_model: boolean,
): Promise<void> {
  await tx`
    update tenant_configs
    set license_jurisdiction = ${settings.license_jurisdiction},
      verticals = ${textArray(settings.verticals)}::text::text[],
      kyc_model = ${settings.kyc_model},
      is_kyc_model_chosen = is_kyc_model_chosen or ${chooses_kyc_model},
      config = ${JSON.stringify(settings.config)}::text::jsonb
    where tenant_id = ${tenant_id}`;
}
