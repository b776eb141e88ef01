import { effectiveRules } from '../licence/effective.ts';
import type { LicenceRule } from '../licence/rule.ts';
import { JURISDICTION_OF_LICENSE } from './catalogue.ts';
import type { TenantSettings } from './schema.ts';

/** What a tenant's `config.bonuses` says, with the defaults of what it leaves out. */
export interface BonusSettings {
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
