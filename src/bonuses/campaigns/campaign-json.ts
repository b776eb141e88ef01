import { wireAmount } from '../templates/config.ts';
import type { BonusCampaignRow } from './queries.ts';
import type { DayUse } from './daily-budget-queries.ts';
import type { CountedRows } from './stats-queries.ts';

/** What happened to the members of a campaign; the sum of `stats` is the number of members at issue time. */
export interface CampaignTotals {
  stats: { pending: number; granted: number; skipped: number; failed: number };
  /** By code. */
  skips: Record<string, number>;
  cost: { granted_base: bigint; released_base: bigint; ended_unreleased_base: bigint; open_base: bigint };
  /** Members about whom nothing is decided. */
  undecided: number;
}

/** The totals of a campaign. While its rows are being made, members without one are pending. */
export function totalsOf(
  { members, is_filled }: BonusCampaignRow,
  counted: readonly CountedRows[],
): CampaignTotals {
  const stats = { pending: 0, granted: 0, skipped: 0, failed: 0 };
  const skips: Record<string, number> = {};
  let undecided = 0;
  const cost = { granted_base: 0n, released_base: 0n, ended_unreleased_base: 0n, open_base: 0n };
  for (const { status, code, rows, ...sums } of counted) {
    const shown = status === 'granted' || status === 'skipped' || status === 'failed' ? status : 'pending';
    stats[shown] += rows;
    if (status === 'pending') undecided += rows;
    if (status === 'skipped' && code !== null) skips[code] = (skips[code] ?? 0) + rows;
    // What reserved members are promised is open, too.
    if (status === 'reserved' || status === 'sent') cost.open_base += BigInt(sums.open);
    if (status !== 'granted') continue;
    cost.granted_base += BigInt(sums.cost);
    cost.released_base += BigInt(sums.released);
    cost.ended_unreleased_base += BigInt(sums.ended_unreleased);
    cost.open_base += BigInt(sums.open);
  }
  if (!is_filled) {
    stats.pending = Math.max(stats.pending, members - stats.granted - stats.skipped - stats.failed);
  }
  return { stats, skips, cost, undecided };
}

/** The bonus campaign resource (spec part 2). */
export function bonusCampaignJson(
  row: BonusCampaignRow,
  { stats, skips, cost, undecided }: CampaignTotals,
  use: DayUse | undefined,
) {
  const daily_budget = use === undefined ? null : dailyBudgetJson(use, undecided);
  return { ...settingsJson(row), stats, skips, cost: shown(cost), daily_budget };
}

function dailyBudgetJson({ day_from, day_to, day_used, waits_until }: DayUse, undecided: number) {
  const waiting = waits_until === null ? 0 : undecided;
  return {
    day_from,
    day_to,
    used_base: wireAmount(BigInt(day_used)),
    waiting,
    waits_until: waiting > 0 ? waits_until : null,
  };
}

/** A campaign as the audit log has it: without what happens to its members. */
export function settingsJson(row: BonusCampaignRow) {
  return {
    id: row.campaign_id,
    tenant_id: row.tenant_id,
    project_id: row.project_id,
    name: row.name,
    template_id: row.template_id,
    segment_id: row.segment_id,
    deposit_amount: row.deposit_amount === null ? null : wireAmount(BigInt(row.deposit_amount)),
    deposit_from: row.deposit_from,
    currency_override: row.currency_override,
    schedule_at: row.schedule_at,
    max_liability: row.max_liability === null ? null : wireAmount(row.max_liability),
    max_grants: row.max_grants,
    rate_per_second: row.rate_per_second,
    daily_budget_base: row.daily_budget_base === null ? null : wireAmount(row.daily_budget_base),
    pace: row.pace,
    qualifying_product: row.qualifying_product,
    advertising: row.advertising,
    holdout_percent: row.holdout_percent,
    status: row.status,
    last_error: row.last_error ?? row.release_error,
    created_at: row.created_at,
    updated_at: row.updated_at,
    issued_at: row.issued_at,
    finished_at: row.finished_at,
  };
}

function shown(cost: CampaignTotals['cost']) {
  return {
    granted_base: wireAmount(cost.granted_base),
    released_base: wireAmount(cost.released_base),
    ended_unreleased_base: wireAmount(cost.ended_unreleased_base),
    open_base: wireAmount(cost.open_base),
  };
}
