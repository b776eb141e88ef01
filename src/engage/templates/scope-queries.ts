import { LAST_SEEN_SQL, NGR_SQL } from '../../analytics/mirrored-columns.ts';
import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { ScopePlayer } from './player-scope.ts';
import { NEWEST_ANONYMOUS_IDS } from '../../players/profile/queries.ts';

/**
 * The columns that make a `ScopePlayer`, by their names there: `p` is players, `t` is player_totals. Money and counts of
 * 64 bits are texts in JSON, which has no exact numbers.
 */
const SCOPE_COLUMNS = {
  player_id: 'p.player_id',
  external_id: 'p.external_id',
  email: 'p.email',
  phone: 'p.phone',
  telegram_id: 'p.telegram_id',
  anonymous_ids: NEWEST_ANONYMOUS_IDS,
  player_status: 'p.status',
  timezone: 'p.timezone',
  first_seen_at: 't.first_seen_at',
  last_seen_at: LAST_SEEN_SQL,
  total_deposited: 't.total_deposited::text',
  total_withdrawn: 't.total_withdrawn::text',
  total_wagered: 't.total_wagered::text',
  total_won: 't.total_won::text',
  total_bonus_wagered: 't.total_bonus_wagered::text',
  total_bonus_won: 't.total_bonus_won::text',
  total_credited: 't.total_credited::text',
  total_debited: 't.total_debited::text',
  ggr: '(t.total_wagered - t.total_won)::text',
  ngr: `${NGR_SQL}::text`,
  bet_count: 't.bet_count::text',
  session_count: 't.session_count::text',
  pending_conversions: 't.pending_conversions::text',
  default_currency_code: 'p.default_currency_code',
  current_tier_code: 'p.current_tier_code',
  tier_promoted_at: 'p.tier_promoted_at',
  kyc_status: 'p.kyc_status',
  kyc_level: 'p.kyc_level',
  churn_score: 'p.churn_score',
  ltv_predicted: 'p.ltv_predicted',
  custom_attributes: 'p.custom_attributes',
  player_created_at: 'p.created_at',
  player_updated_at: 'greatest(p.updated_at, t.updated_at)',
  player_deleted_at: 'p.deleted_at',
} as const satisfies Record<keyof ScopePlayer, string>;

const LISTED = Object.entries(SCOPE_COLUMNS)
  .map(([name, source]) => `${source} as ${name}`)
  .join(', ');
const AS_JSON = Object.entries(SCOPE_COLUMNS)
  .map(([name, source]) => `'${name}', ${source}`)
  .join(', ');

/** The columns of a `ScopePlayer` of `p` (players) and `t` (player_totals). */
export function scopeColumns(tx: Tx) {
  return tx.unsafe(LISTED);
}

/** The same as one JSON object. */
export function scopeObject(tx: Tx) {
  return tx.unsafe(`jsonb_build_object(${AS_JSON})`);
}

/** Joins `t`, the totals of the player `p`, by their key. */
export function withTotals(tx: Tx) {
  return tx`
    left join lateral (
      select * from player_totals t
      where t.tenant_id = p.tenant_id and t.project_id = p.project_id and t.player_id = p.player_id offset 0
    ) t on true`;
}

/** The fields of a player that templates may read; no row when the project has no player of this id. */
export function selectScopePlayer(
  tx: Tx,
  project: ProjectRef,
  player_id: string,
): PendingQuery<ScopePlayer[]> {
  return tx<ScopePlayer[]>`
    select ${scopeColumns(tx)} from players p ${withTotals(tx)}
    where p.tenant_id = ${project.tenant_id} and p.project_id = ${project.project_id} and p.player_id = ${player_id}`;
}
