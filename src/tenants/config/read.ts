import type { Tx } from '../../platform/postgres/port.ts';
import { selectTenantConfig, type StoredTenantConfig } from './queries.ts';
import type { TenantSettings } from './schema.ts';
import { effectiveRules } from '../licence/effective.ts';
import type { LicenceRule } from '../licence/rule.ts';
import { JURISDICTION_OF_LICENSE } from './catalogue.ts';

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

/** What a tenant's `config.bonuses` says, with the defaults of what it leaves out. */
interface BonusSettings {
  /** Nothing is granted, and campaigns stand still. */
  paused: boolean;
  /** What becomes of active bonuses of a player who is excluded. */
  on_exclusion: 'keep' | 'cancel';
  /** Grants to one player in any 24 hours. */
  grants_per_day: number;
}

/** The settings of bonuses of a tenant. */
export function bonusSettingsOf({ config }: Pick<TenantSettings, 'config'>): BonusSettings {
  const { paused = false, on_exclusion = 'keep', grants_per_day = 5 } = config.bonuses ?? {};
  return { paused, on_exclusion, grants_per_day };
}

/** The licence rules that hold for a tenant now: of its licence and for all, as its configuration changes them. */
export function licenceRulesOf(
  { license_jurisdiction, config }: Pick<TenantSettings, 'license_jurisdiction' | 'config'>,
  now: Date,
): LicenceRule[] {
  const jurisdiction =
    license_jurisdiction === null ? null : (JURISDICTION_OF_LICENSE[license_jurisdiction] ?? null);
  return effectiveRules(jurisdiction, config.license_rules ?? {}, now);
}
