import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { selectTenantConfig } from './queries.ts';
import type { TenantConfig, TenantSettings } from './schema.ts';
import { effectiveRules } from '../licence/effective.ts';
import type { LicenceRule } from '../licence/rule.ts';
import { TimeZone, UTC_ZONE } from '../../platform/time-zone.ts';
import { JURISDICTION_OF_LICENSE } from './catalogue.ts';

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
  return requireConfig(await selectTenantConfig(sql, tenant_id), tenant_id);
}

/** As {@link readTenantConfig}, in a transaction of the tenant. */
export async function readOwnConfig(postgres: Postgres, tenant_id: string): Promise<TenantConfig> {
  const rows = await postgres.readAsTenant(tenant_id, (tx) => selectTenantConfig(tx, tenant_id));
  return requireConfig(rows, tenant_id);
}

function requireConfig([row]: readonly TenantConfig[], tenant_id: string): TenantConfig {
  if (row === undefined) throw new Error(`tenant ${tenant_id} does not exist`);
  return row;
}

/** What a tenant's `config.bonuses` says, with defaults for what it does not say. */
interface BonusSettings {
  /** Nothing is granted, and campaigns stand still. */
  paused: boolean;
  /** What happens to active bonuses of a player who is excluded. */
  on_exclusion: 'keep' | 'cancel';
  /** Grants to one player in any 24 hours. */
  grants_per_day: number;
}

/** The settings of bonuses of a tenant. */
export function bonusSettingsOf({ config }: Pick<TenantSettings, 'config'>): BonusSettings {
  const { paused = false, on_exclusion = 'keep', grants_per_day = 5 } = config.bonuses ?? {};
  return { paused, on_exclusion, grants_per_day };
}

/** Names of events that senders of the Segment dialect use, with ours: those of the tenant, and of the project. */
export function segmentEventsOf(
  { config }: Pick<TenantSettings, 'config'>,
  project_id: string,
): Readonly<Record<string, string>> {
  const { segment_events } = config;
  if (segment_events === undefined) return NO_NAMES;
  const of_project = segment_events[project_id];
  const all = typeof of_project === 'object' ? { ...segment_events, ...of_project } : segment_events;
  // The ids of projects are no names.
  return all as Record<string, string>;
}

const NO_NAMES: Readonly<Record<string, string>> = {};

/** The time zone by which a tenant's days of money are cut: `config.reporting.timezone`, or UTC. */
export function reportingZoneOf({ config }: Pick<TenantSettings, 'config'>): TimeZone {
  const { timezone } = config.reporting ?? {};
  // A later release of the rules may not have a name any more.
  return (timezone === undefined ? undefined : TimeZone.named(timezone)) ?? UTC_ZONE;
}

/** As {@link reportingZoneOf}, read from Postgres; rejects when the tenant does not exist. */
export async function reportingZone(postgres: Postgres, tenant_id: string): Promise<TimeZone> {
  return reportingZoneOf(await readOwnConfig(postgres, tenant_id));
}

/** What a tenant's `config.reporting` says, with defaults for what it does not say. */
export interface ReportingSettings {
  /** Of days and other intervals of figures. */
  zone: TimeZone;
  /** Where bonus cost comes from. */
  bonus_cost: 'feed' | 'grants';
  /** What is less in NGR; `bp` are hundredths of a percent. */
  deductions: readonly Deduction[];
}
export type Deduction = NonNullable<NonNullable<TenantSettings['config']['reporting']>['deductions']>[number];

/** How a tenant's figures are computed. */
export function reportingSettingsOf(settings: Pick<TenantSettings, 'config'>): ReportingSettings {
  const { bonus_cost = 'feed', deductions = [] } = settings.config.reporting ?? {};
  return { zone: reportingZoneOf(settings), bonus_cost, deductions };
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
