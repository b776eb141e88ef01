import { ApiError, validationError } from '../../errors.ts';
import { auditOf, type Auditing } from '../../http/audit.ts';
import { requireRow, type RecordKind } from '../../http/record.ts';
import { TIERS_CHANNEL } from '../../ledger/tier-thresholds/threshold-cache.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Jobs } from '../../platform/jobs/port.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { retierJob } from './jobs.ts';
import { insertTier, lockTiers, selectTierRows, updateTier, type TierRef, type TierRow } from './queries.ts';
import { storedPerks, type CreateTierBody, type PatchTierBody } from './schema.ts';

export const TIER: RecordKind<'tenant', 'tier_id'> = {
  scope: 'tenant',
  noun: 'VIP tier',
  id: 'tier_id',
  not_found: 'VIP_TIER_NOT_FOUND',
};

/** Tiers per tenant, inactive ones too. */
const MAX_TIERS = 100;

/** The dependencies of changing tiers. */
export interface ChangeDeps {
  postgres: Postgres;
  clock: Clock;
  jobs: Jobs;
  notifications: Notifications;
}

/** The tier as the API shows it (spec part 2); its amounts were accepted as safe integers. */
export function tierResourceOf(row: TierRow) {
  const { tier_id, tenant_id, code, name, rank, color, glyph, perks, is_active, created_at, updated_at } =
    row;
  return {
    id: tier_id,
    tenant_id,
    code,
    name,
    rank,
    color,
    glyph,
    requirements: {
      lifetime_deposit_subunit: Number(row.lifetime_deposit_subunit),
      lifetime_wagered_subunit: Number(row.lifetime_wagered_subunit),
      min_days_active: row.min_days_active,
    },
    demotion:
      row.grace_days === null ? null : { inactivity_days: row.inactivity_days, grace_days: row.grace_days },
    perks,
    is_active,
    created_at,
    updated_at,
  };
}

const auditTier = auditOf(TIER, (row: TierRow, _ref: { tenant_id: string }) => tierResourceOf(row));

/**
 * Creates a tier; the daily sweep gives an active one to the players who fit it already. Rejects with VIP_TIER_CODE_TAKEN,
 * VIP_TIER_RANK_TAKEN or CONFLICT (too many tiers).
 */
export async function createTier(
  deps: ChangeDeps & Auditing,
  { tenant_id }: Pick<TierRef, 'tenant_id'>,
  { requirements, demotion, ...body }: CreateTierBody,
): Promise<TierRow> {
  const now = new Date(deps.clock.now_ms());
  const row: TierRow = {
    tenant_id,
    tier_id: newId(),
    ...body,
    lifetime_deposit_subunit: BigInt(requirements.lifetime_deposit_subunit),
    lifetime_wagered_subunit: BigInt(requirements.lifetime_wagered_subunit),
    min_days_active: requirements.min_days_active,
    inactivity_days: demotion?.inactivity_days ?? null,
    grace_days: demotion?.grace_days ?? null,
    created_at: now,
    updated_at: now,
  };
  return deps.postgres.asTenant(tenant_id, async (tx) => {
    const others = await lockTiers(tx, tenant_id);
    if (others.some(({ code }) => code === row.code)) {
      throw new ApiError(
        'VIP_TIER_CODE_TAKEN',
        `the code ${row.code} belongs to another tier: choose another`,
      );
    }
    if (others.length >= MAX_TIERS) {
      throw new ApiError('CONFLICT', `the tenant has ${MAX_TIERS} VIP tiers: change one that is not active`);
    }
    requireFreeRank(row, others);
    await Promise.all([
      insertTier(tx, row),
      auditTier(deps.audit, tx, row, null, row),
      row.is_active ? announce(deps, tx, row) : undefined,
    ]);
    return row;
  });
}

/**
 * Changes a tier. What decides who is in it leads to a look at all players of the tenant, in the background: a tier that
 * is not active any more loses its players, and whom the rules move otherwise is left to the daily sweep. Rejects with
 * VIP_TIER_NOT_FOUND or VIP_TIER_RANK_TAKEN.
 */
export async function changeTier(
  deps: ChangeDeps & Auditing,
  ref: TierRef,
  patch: PatchTierBody,
): Promise<TierRow> {
  const now = new Date(deps.clock.now_ms());
  return deps.postgres.asTenant(ref.tenant_id, async (tx) => {
    const all = await lockTiers(tx, ref.tenant_id);
    const before = requireRow(
      TIER,
      ref,
      all.find(({ tier_id }) => tier_id === ref.tier_id),
    );
    const after = { ...patched(before, patch), updated_at: now };
    requireFreeRank(after, all);
    await Promise.all([
      updateTier(tx, after),
      auditTier(deps.audit, tx, ref, before, after),
      decides(before) === decides(after) ? undefined : announce(deps, tx, after),
    ]);
    return after;
  });
}

function requireFreeRank(row: TierRow, others: readonly TierRow[]): void {
  if (!row.is_active) return;
  const taken = others.find(
    ({ tier_id, rank, is_active }) => is_active && rank === row.rank && tier_id !== row.tier_id,
  );
  if (taken === undefined) return;
  throw new ApiError('VIP_TIER_RANK_TAKEN', `rank ${row.rank} belongs to the active tier ${taken.code}`);
}

function patched(
  row: TierRow,
  { requirements = {}, demotion, perks = {}, ...patch }: PatchTierBody,
): TierRow {
  const { name = row.name, rank = row.rank, is_active = row.is_active } = patch;
  const { color = row.color, glyph = row.glyph } = patch;
  const { lifetime_deposit_subunit: deposit, lifetime_wagered_subunit: wagered } = requirements;
  const merged = storedPerks.safeParse(
    Object.fromEntries(Object.entries({ ...row.perks, ...perks }).filter(([, value]) => value !== null)),
  );
  if (!merged.success) {
    throw validationError([{ path: 'perks', message: merged.error.issues[0]?.message ?? 'is too large' }]);
  }
  return {
    ...row,
    name,
    rank,
    color,
    glyph,
    is_active,
    lifetime_deposit_subunit: deposit === undefined ? row.lifetime_deposit_subunit : BigInt(deposit),
    lifetime_wagered_subunit: wagered === undefined ? row.lifetime_wagered_subunit : BigInt(wagered),
    min_days_active: requirements.min_days_active ?? row.min_days_active,
    ...patchedDemotion(row, demotion),
    perks: merged.data,
  };
}

function patchedDemotion(
  { inactivity_days, grace_days }: TierRow,
  demotion: PatchTierBody['demotion'],
): Pick<TierRow, 'inactivity_days' | 'grace_days'> {
  if (demotion === undefined) return { inactivity_days, grace_days };
  if (demotion === null) return { inactivity_days: null, grace_days: null };
  return {
    inactivity_days: demotion.inactivity_days === undefined ? inactivity_days : demotion.inactivity_days,
    grace_days: demotion.grace_days ?? grace_days ?? 0,
  };
}

/** The fields that decide which players are in a tier, as one text. */
function decides(row: TierRow): string {
  const { rank, is_active, min_days_active, inactivity_days, grace_days, perks } = row;
  const amounts = `${row.lifetime_deposit_subunit} ${row.lifetime_wagered_subunit}`;
  const has_host = perks['dedicated_host'] === true;
  return JSON.stringify([rank, is_active, amounts, min_days_active, inactivity_days, grace_days, has_host]);
}

/** Once the change is committed, those who change totals know it, and all players of the tenant are looked at. */
async function announce(
  { jobs, notifications }: ChangeDeps,
  tx: Tx,
  { tenant_id, updated_at }: TierRow,
): Promise<void> {
  await Promise.all([
    notifications.notify(tx, TIERS_CHANNEL, tenant_id),
    jobs.add(tx, retierJob(tenant_id, updated_at)),
  ]);
}

/** Has all players of a tenant looked at whose licence was changed, or what it changes of its rules: whether a tier needs checks depends on it. */
export function retierUnderOtherLicense({
  jobs,
  clock,
}: Pick<ChangeDeps, 'jobs' | 'clock'>): (tx: Tx, tenant_id: string) => Promise<void> {
  return async (tx, tenant_id) => {
    const tiers = await selectTierRows(tx, tenant_id);
    if (tiers.length > 0) await jobs.add(tx, retierJob(tenant_id, new Date(clock.now_ms())));
  };
}
