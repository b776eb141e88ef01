import { ApiError } from '../../errors.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { readTenantConfig, type TenantConfig } from '../../tenants/config/read.ts';
import type { Protected } from './admission-queries.ts';
import { requireEligible } from './eligibility.ts';
import { requireLicence } from './grant-licence.ts';
import { termsOfGrant, type GrantRow } from './grant-row.ts';
import { selectRecheck, type RecheckFacts } from './recheck-queries.ts';

/** The checks of a grant hold for so long after it was stored; what waits longer is checked again. */
const FRESH_MS = 60_000;

/** What a grant that has waited is told: it ends with the reason, or nobody knows. */
type Rechecked = { kind: 'barred'; reason: string } | { kind: 'failed'; error: unknown };

/**
 * Checks grants again that have waited longer than a minute since they were stored: risk, KYC level, segment and licence,
 * as they are now, in a few statements for all. The terms and amounts are those that were stored, and what the player was
 * granted before counts without the grant itself. Resolves with those that may not be sent, by grant_id.
 */
export async function recheck(
  sql: Tx,
  grants: readonly GrantRow[],
  found: readonly Protected[],
  now: Date,
): Promise<Map<string, Rechecked>> {
  const waited = new Map(
    grants
      .filter(({ created_at }) => now.getTime() - created_at.getTime() > FRESH_MS)
      .map((grant) => [grant.grant_id, grant]),
  );
  const refused = new Map<string, Rechecked>();
  if (waited.size === 0) return refused;
  const asked = found.flatMap(({ grant_id, player_id }) => {
    const grant = waited.get(grant_id);
    return grant === undefined ? [] : [{ ...grant, player_id }];
  });
  const configs = new Map<string, TenantConfig>();
  for (const tenant_id of new Set(asked.map((one) => one.tenant_id))) {
    configs.set(tenant_id, await readTenantConfig(sql, tenant_id));
  }
  for (const facts of await selectRecheck(sql, asked)) {
    const grant = waited.get(facts.grant_id);
    const config = grant === undefined ? undefined : configs.get(grant.tenant_id);
    if (grant === undefined || config === undefined) continue;
    try {
      await requireStillEligible(sql, grant, facts, config, now);
    } catch (error) {
      const reason =
        error instanceof ApiError && error.code === 'BONUS_PLAYER_NOT_ELIGIBLE'
          ? error.details?.['reason']
          : undefined;
      // One grant that cannot be read holds up no other.
      refused.set(
        grant.grant_id,
        typeof reason === 'string' ? { kind: 'barred', reason } : { kind: 'failed', error },
      );
    }
  }
  return refused;
}

async function requireStillEligible(
  sql: Tx,
  grant: GrantRow,
  { is_member, bonuses_before, min_kyc_level, eligible_segment_id, ...player }: RecheckFacts,
  config: TenantConfig,
  now: Date,
): Promise<void> {
  const digits = (amount: string | null) => (amount === null ? null : BigInt(amount));
  const input = {
    player,
    template: { min_kyc_level, eligible_segment_id },
    // Counted when it was stored; it is one of the day itself.
    counts: { of_day: 0 },
    config,
    is_member: () => is_member,
    now,
  };
  await requireEligible(input, async () => {
    await requireLicence(sql, {
      tenant_id: grant.tenant_id,
      config,
      terms: termsOfGrant(grant),
      amounts: {
        kind: 'amounts',
        currency: grant.currency,
        bonus_amount: BigInt(grant.bonus_amount),
        deposit_amount: digits(grant.deposit_amount),
        wagering_required: BigInt(grant.wagering_required),
        max_bet: digits(grant.max_bet),
        max_win_cap: digits(grant.max_win_cap),
      },
      // What was agreed when it was stored does not change, and what it was earned with was judged then.
      qualifying_product: null,
      is_amount_changed: false,
      player,
      bonuses_before,
      now,
    });
  });
}
