import type { ProjectRef } from '../../tenants/project-ref.ts';
import { wireAmount } from './config.ts';
import type { BonusTemplateRow } from './queries.ts';

/** The bonus template resource (spec part 2). */
export function bonusTemplateResourceOf(
  row: BonusTemplateRow,
  { project_id }: ProjectRef,
): Record<string, unknown> {
  const amount = (value: string | bigint | null) => (value === null ? null : wireAmount(BigInt(value)));
  return {
    id: row.template_id,
    project_id,
    name: row.name,
    type: row.type,
    config: row.config,
    wagering_requirement_multiplier: Number(row.wagering_requirement_multiplier),
    wagering_basis: row.wagering_basis,
    game_contribution: row.game_contribution,
    max_bet_during_wagering: amount(row.max_bet_during_wagering),
    max_win_cap: amount(row.max_win_cap),
    max_bet_action: row.max_bet_action,
    time_limit_hours: row.time_limit_hours,
    wallet_model: row.wallet_model,
    product: row.product,
    status: row.status,
    max_grants_per_player: row.max_grants_per_player,
    grant_window_days: row.grant_window_days,
    exclusion_group: row.exclusion_group,
    budget_base: amount(row.budget_base),
    min_kyc_level: row.min_kyc_level,
    eligible_segment_id: row.eligible_segment_id,
    version: row.version,
    licence_warnings: row.licence_warnings,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  };
}
