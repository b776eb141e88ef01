import type { Platform } from '../../platform/platform.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { TenantConfig } from '../../tenants/config/schema.ts';
import { readTenantConfig, reportingZoneOf } from '../../tenants/config/read.ts';
import { selectProfile, updateWait } from './daily-budget-queries.ts';
import { dayLimitOf, HOURS, waitsUntil, type DailyBudget } from './pacing.ts';
import { selectBonusCampaign, type BonusCampaignRef, type BonusCampaignRow } from './queries.ts';
import { lockUsed } from './reserve-queries.ts';

/** Every hour as active as the others. */
const PLAIN: readonly number[] = Array.from({ length: HOURS }, () => 1);

/** The daily budget of a campaign; null: it has none. Without a profile by the clocks of the tenant's zone all hours are equal. */
export async function loadDailyBudget(
  tx: Tx,
  campaign: BonusCampaignRow,
  config: Pick<TenantConfig, 'config'>,
): Promise<DailyBudget | null> {
  const { daily_budget_base: budget_base, pace } = campaign;
  if (budget_base === null) return null;
  const zone = reportingZoneOf(config);
  const profile = pace === 'even' ? await selectProfile(tx, campaign) : undefined;
  const hours = profile?.timezone === zone.name ? profile.hours : null;
  return { budget_base, pace, zone, hours: hours ?? PLAIN };
}

/**
 * Lets the campaign rest until its daily budget may have room for members of whom the cheapest costs `cost_base`. It does not
 * rest when there is room now, because something was given back since they were decided about.
 */
export async function noteWait(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  ref: BonusCampaignRef,
  cost_base: bigint,
): Promise<void> {
  await retryConflicts(() =>
    postgres.service.begin(async (tx) => {
      const [campaign] = await selectBonusCampaign(tx, ref);
      if (campaign === undefined) return;
      const plan = await loadDailyBudget(tx, campaign, await readTenantConfig(tx, ref.tenant_id));
      if (plan === null) return;
      const { day } = await lockUsed(tx, campaign);
      const now_ms = clock.now_ms();
      const limit = dayLimitOf(plan, day, now_ms);
      if (limit.day.used_base + cost_base <= limit.allowed_base) return;
      await updateWait(tx, ref, limit.day, new Date(waitsUntil(plan, limit, cost_base, now_ms)));
    }),
  );
}
