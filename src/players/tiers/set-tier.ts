import { ApiError, validationError } from '../../errors.ts';
import type { Auditing } from '../../http/audit.ts';
import { requestTiers } from '../../ledger/tier-thresholds/queries.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { PlayerRef } from '../player-ref.ts';
import { withSurvivor } from '../profile/read.ts';
import { lastOf, recomputePlayers } from './apply.ts';
import {
  insertHistory,
  lockPlayersAndTotals,
  selectFacts,
  writeDeadlines,
  writeStates,
} from './player-tier-queries.ts';
import type { PlayerFacts, TierWrite } from './player-tier-queries.ts';
import { recompute, type TierRule, type TierState } from './recompute.ts';
import { isApproved, readTierRules, type TierRules } from './tier-rules.ts';
import type { SetTierBody } from './schema.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

/** The answer of every endpoint that computes or sets a tier. */
export interface TierChange {
  player_id: string;
  changed: boolean;
  from_code: string | null;
  to_code: string | null;
  trigger: 'auto' | 'manual' | 'reset';
  tier_promoted_at: Date | null;
  /** Why nothing changed. */
  reason?: string;
  /** Only while a higher tier waits for checks: its code. */
  context?: { pending_approval: string };
}

/** A tier set by hand. */
export type ManualTier = SetTierBody & { to_code: string; reason: string; actor: string };

/** Computes the tier of one player by the rules. Rejects with PLAYER_NOT_FOUND. */
export async function recomputeTier(
  { postgres, clock, audit }: Deps & Auditing,
  ref: PlayerRef,
): Promise<TierChange> {
  return inTransaction(postgres, ref, async (tx, one) => {
    const [outcome] = await recomputePlayers(tx, one.tenant_id, [one], clock.now_ms());
    if (outcome === undefined) return undefined;
    const { before, decisions } = outcome;
    const last = lastOf(outcome);
    const { reason } = decisions[0];
    await auditTierOf(audit, tx, one, before, { ...last, locked: before.locked });
    return {
      ...changeOf(one, before, last, decisions[0].change?.trigger ?? 'auto'),
      ...(reason === undefined ? {} : { reason }),
    };
  });
}

/**
 * Puts a player into a tier by hand, up or down; the rules go on from there: what is earned already and not locked is
 * given by the next sweep. `lock` keeps the tier from rising by itself; when it is taken off, what was earned is given at
 * once. The tier that the player has already makes no entry in the history. Under a licence that asks for checks a promotion into
 * a tier with a host waits until it is asked for with `approval`. Rejects with PLAYER_NOT_FOUND, CONFLICT (the player is
 * deleted), VIP_TIER_NOT_FOUND, VIP_TIER_INACTIVE or VALIDATION_ERROR (a check in the future).
 */
export async function setTier(
  { postgres, clock, audit }: Deps & Auditing,
  ref: PlayerRef,
  given: ManualTier,
): Promise<TierChange> {
  const now_ms = clock.now_ms();
  requirePast(given, now_ms);
  return inTransaction(postgres, ref, async (tx, one) => {
    const [, [before], rules] = await Promise.all([
      lockPlayersAndTotals(tx, one.tenant_id, [one]),
      selectFacts(tx, one.tenant_id, [one]),
      readTierRules(tx, one.tenant_id, new Date(now_ms)),
    ]);
    if (before === undefined) return undefined;
    if (before.status === 'deleted') throw new ApiError('CONFLICT', `player ${ref.player_id} is deleted`);
    const tier = requireTier(rules.tiers, given.to_code);
    const { after, reason } = manualState(before, tier, rules, given, now_ms);
    await writeManual(tx, one, { before, after, rules: rules.tiers, given, now_ms });
    await auditTierOf(audit, tx, one, before, after);
    return { ...changeOf(one, before, after, 'manual'), ...(reason === undefined ? {} : { reason }) };
  });
}

function inTransaction(
  postgres: Postgres,
  ref: PlayerRef,
  work: (tx: Tx, one: PlayerRef) => Promise<TierChange | undefined>,
): Promise<TierChange> {
  return withSurvivor(postgres, ref, (one) =>
    retryConflicts(() => postgres.asTenant(one.tenant_id, (tx) => work(tx, one))),
  );
}

function requirePast({ approval }: ManualTier, now_ms: number): void {
  if (approval === undefined) return;
  for (const name of ['affordability_at', 'harm_check_at', 'edd_at'] as const) {
    if (Date.parse(approval[name]) <= now_ms) continue;
    const message = `must not be in the future, but is ${approval[name]}`;
    throw validationError([{ path: `approval.${name}`, message }]);
  }
}

function requireTier(rules: readonly TierRule[], to_code: string): TierRule {
  const tier = rules.find(({ code }) => code === to_code);
  if (tier === undefined) throw new ApiError('VIP_TIER_NOT_FOUND', `VIP tier ${to_code} does not exist`);
  if (!tier.is_active) {
    throw new ApiError('VIP_TIER_INACTIVE', `VIP tier ${to_code} is not active: activate it or name another`);
  }
  return tier;
}

type ManualState = TierState & Pick<TierWrite, 'locked'>;

function manualState(
  { code, promoted_ms, demoted_ms, pending_code, locked }: PlayerFacts,
  tier: TierRule,
  { tiers, licence }: TierRules,
  { lock, approval }: ManualTier,
  now_ms: number,
): { after: ManualState; reason?: string } {
  const same = { code, promoted_ms, demoted_ms, pending_code, locked };
  if (tier.code === code) return { after: { ...same, locked: lock ?? locked }, reason: 'same_tier' };
  const rank = tiers.find((one) => one.code === code)?.rank ?? -1;
  if (tier.needs_checks && tier.rank > rank && !isApproved(licence, approval ?? null, new Date(now_ms))) {
    return { after: { ...same, pending_code: tier.code }, reason: 'pending_approval' };
  }
  const moved = { code: tier.code, promoted_ms: now_ms, demoted_ms: null, pending_code: null };
  return { after: { ...moved, locked: lock ?? false } };
}

interface Manual {
  before: PlayerFacts;
  after: ManualState;
  rules: readonly TierRule[];
  given: ManualTier;
  now_ms: number;
}

async function writeManual(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  { before, after, rules, given, now_ms }: Manual,
): Promise<void> {
  const { actor, reason, approval } = given;
  const context = { actor, reason, lock: after.locked, ...(approval === undefined ? {} : { approval }) };
  const codes = { from_code: before.code, to_code: after.code };
  const entry = {
    project_id,
    player_id,
    ...codes,
    trigger: 'manual',
    context: JSON.stringify(context),
  } as const;
  const has_moved = after.code !== before.code;
  const is_same = !has_moved && after.locked === before.locked && after.pending_code === before.pending_code;
  if (is_same) return;
  // The rules would move the player on, up to what is earned: the next sweep does.
  const { change, due_ms } = recompute({ ...before, ...after }, rules, now_ms);
  const deadline = { project_id, player_id, due_ms: change === undefined ? due_ms : now_ms };
  // What was earned while the lock held crosses nothing any more, so nobody else asks for it.
  const is_released = !has_moved && before.locked && !after.locked;
  const now = new Date(now_ms);
  await Promise.all([
    writeStates(tx, tenant_id, [{ project_id, player_id, ...after }], now),
    insertHistory(tx, tenant_id, has_moved ? [entry] : [], now),
    has_moved ? writeDeadlines(tx, tenant_id, [deadline]) : undefined,
    requestTiers(tx, is_released ? [{ tenant_id, project_id, player_id }] : []),
  ]);
}

function changeOf(
  { player_id }: PlayerRef,
  before: TierState,
  after: TierState,
  trigger: TierChange['trigger'],
): TierChange {
  return {
    player_id,
    changed: after.code !== before.code,
    from_code: before.code,
    to_code: after.code,
    trigger,
    tier_promoted_at: timeOf(after.promoted_ms),
    ...(after.pending_code === null ? {} : { context: { pending_approval: after.pending_code } }),
  };
}

function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

async function auditTierOf(
  audit: Auditing['audit'],
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  before: ManualState,
  after: ManualState,
): Promise<void> {
  await audit(tx, {
    tenant_id,
    project_id,
    resource_id: player_id,
    before: shown(before),
    after: shown(after),
  });
}

function shown({ code, promoted_ms, demoted_ms, pending_code, locked }: ManualState): object {
  return {
    current_tier_code: code,
    tier_promoted_at: timeOf(promoted_ms),
    tier_demoted_at: timeOf(demoted_ms),
    pending_approval: pending_code,
    tier_locked: locked,
  };
}
