import { ngrOf } from '../../ledger/money/totals.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { exactJson, JsonText, parseExact } from '../../platform/exact-json.ts';

/** A player as read from Postgres. 64-bit integers stay `bigint`, JSON stays text: both are exact. */
export interface PlayerRow {
  player_id: string;
  external_id: string | null;
  email: string | null;
  phone: string | null;
  telegram_id: string | null;
  /** JSON array. */
  anonymous_ids: string;
  status: string;
  timezone: string | null;
  first_seen_at: Date;
  last_seen_at: Date;
  total_deposited: bigint;
  total_withdrawn: bigint;
  total_wagered: bigint;
  total_won: bigint;
  total_bonus_wagered: bigint;
  total_bonus_won: bigint;
  total_credited: bigint;
  total_debited: bigint;
  bet_count: bigint;
  session_count: bigint;
  pending_conversions: bigint;
  default_currency_code: string;
  current_tier_code: string | null;
  tier_promoted_at: Date | null;
  kyc_status: string;
  kyc_level: number;
  churn_score: number;
  ltv_predicted: number | null;
  /** JSON object. */
  custom_attributes: string;
  /** JSON array, the first entered first. */
  segment_ids: string;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

/** The player resource (spec part 2) as JSON text; money is written from `bigint`, digit by digit. */
export function playerJson(tenant_id: string, project_id: string, row: PlayerRow): string {
  return exactJson({
    id: row.player_id,
    tenant_id,
    project_id,
    external_id: row.external_id,
    email: row.email,
    phone: row.phone,
    telegram_id: row.telegram_id,
    anonymous_ids: new JsonText(row.anonymous_ids),
    status: row.status,
    timezone: row.timezone,
    first_seen_at: row.first_seen_at,
    last_seen_at: row.last_seen_at,
    total_deposited: row.total_deposited,
    total_withdrawn: row.total_withdrawn,
    total_wagered: row.total_wagered,
    total_won: row.total_won,
    total_bonus_wagered: row.total_bonus_wagered,
    total_bonus_won: row.total_bonus_won,
    total_credited: row.total_credited,
    total_debited: row.total_debited,
    ggr: row.total_wagered - row.total_won,
    ngr: ngrOf(row),
    bet_count: row.bet_count,
    session_count: row.session_count,
    pending_conversions: row.pending_conversions,
    default_currency_code: row.default_currency_code,
    current_tier_code: row.current_tier_code,
    tier_promoted_at: row.tier_promoted_at,
    kyc_status: row.kyc_status,
    kyc_level: row.kyc_level,
    churn_score: row.churn_score,
    ltv_predicted: row.ltv_predicted,
    segment_ids: new JsonText(row.segment_ids),
    custom_attributes: new JsonText(row.custom_attributes),
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  });
}

/**
 * A player in the audit log: without what events change meanwhile (totals, counts, times, segments) and without what is
 * derived. Each custom attribute is a field `custom_attributes.<name>`, so that a row has the changed ones only.
 */
export function playerAuditOf(row: PlayerRow, { tenant_id, project_id }: ProjectRef): object {
  const attributes = parseExact(row.custom_attributes) as Record<string, unknown>;
  return {
    id: row.player_id,
    tenant_id,
    project_id,
    external_id: row.external_id,
    email: row.email,
    phone: row.phone,
    telegram_id: row.telegram_id,
    anonymous_ids: JSON.parse(row.anonymous_ids) as unknown,
    status: row.status,
    timezone: row.timezone,
    default_currency_code: row.default_currency_code,
    ...Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [`custom_attributes.${name}`, value]),
    ),
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  };
}

/** What PATCH can change of a player: its version is made from that alone, so that events do not make an edit stale. */
export function playerVersionOf(row: PlayerRow): object {
  return {
    id: row.player_id,
    email: row.email,
    phone: row.phone,
    telegram_id: row.telegram_id,
    timezone: row.timezone,
    status: row.status,
    custom_attributes: parseExact(row.custom_attributes),
  };
}
