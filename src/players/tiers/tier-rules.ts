import { violations } from '../../tenants/licence/evaluate.ts';
import type { TierFacts } from '../../tenants/licence/facts.ts';
import type { LicenceRule } from '../../tenants/licence/rule.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { licenceRulesOf, readTenantConfig } from '../../tenants/config/read.ts';
import { selectTierRows } from './queries.ts';
import type { TierRule } from './recompute.ts';

/** What a promotion is decided by: the tiers, and the rules of the tenant's licence as they hold now. */
export interface TierRules {
  tiers: TierRule[];
  licence: readonly LicenceRule[];
}

/** Reads the tenant's tiers. One with a host needs checks of the player first, where the licence asks for them. */
export async function readTierRules(tx: Tx, tenant_id: string, now: Date): Promise<TierRules> {
  const [rows, config] = await Promise.all([selectTierRows(tx, tenant_id), readTenantConfig(tx, tenant_id)]);
  const licence = licenceRulesOf(config, now);
  const asks = !isApproved(licence, null, now);
  return {
    licence,
    tiers: rows.map(({ has_host, ...tier }) => ({ ...tier, needs_checks: has_host && asks })),
  };
}

/** Whether no enforced rule forbids a promotion into a tier with a host after these checks; null: none were made. */
export function isApproved(
  licence: readonly LicenceRule[],
  approval: TierFacts['approval'],
  now: Date,
): boolean {
  const broken = violations(licence, { at: 'tier', facts: { approval }, now });
  return broken.every(({ severity }) => severity !== 'enforce');
}
