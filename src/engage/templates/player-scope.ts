import type { ExactNumber } from '../../platform/exact-json.ts';
import { wholeOf } from './decimals.ts';

/** A time as Postgres gives it, or as its JSON does. */
type Time = Date | string;

/**
 * What templates may read of a player: the fields of the player resource but `segment_ids`, which would take a look-up
 * per message. Totals (in the smallest unit of the base currency) and counts are decimal texts. The fields that a row of
 * a message has under the same name begin with `player_`.
 */
export interface ScopePlayer {
  player_id: string;
  external_id: string | null;
  email: string | null;
  phone: string | null;
  telegram_id: string | null;
  anonymous_ids: readonly string[];
  player_status: string;
  timezone: string | null;
  first_seen_at: Time | null;
  last_seen_at: Time | null;
  total_deposited: string;
  total_withdrawn: string;
  total_wagered: string;
  total_won: string;
  total_bonus_wagered: string;
  total_bonus_won: string;
  total_credited: string;
  total_debited: string;
  ggr: string;
  ngr: string;
  bet_count: string;
  session_count: string;
  pending_conversions: string;
  default_currency_code: string;
  current_tier_code: string | null;
  tier_promoted_at: Time | null;
  kyc_status: string;
  kyc_level: number;
  churn_score: number;
  ltv_predicted: number | null;
  custom_attributes: Record<string, unknown>;
  player_created_at: Time;
  player_updated_at: Time;
  player_deleted_at: Time | null;
}

/**
 * What templates read of a bonus. Amounts are in the smallest unit of `currency`.
 */
export interface ScopeBonus {
  id: string;
  /** The id of the bonus at the platform; null until the platform has said it. */
  code: string | null;
  /** The name and the type of its template. */
  name: string;
  type: string;
  status: string;
  currency: string;
  amount: number | ExactNumber;
  wagering_required: number | ExactNumber;
  wagering_progress: number | ExactNumber;
  /** ISO 8601; null: it has no end. */
  expires_at: string | null;
}

/** The variables of a template besides the player. */
export interface ScopeExtra {
  /** What caused the message: the context of a journey run, or the properties of the event that fired a campaign. */
  context?: unknown;
  journey?: unknown;
  bonus?: ScopeBonus | null;
  unsubscribe_url?: string;
}

/**
 * The variables of a template: the player's custom attributes and fields at the top level and in `player` (a field
 * overrides an attribute of its name), and `context`, `journey`, `bonus` and `unsubscribe_url`, which no attribute
 * overrides.
 */
export function playerScope(player: ScopePlayer, extra: ScopeExtra = {}): Record<string, unknown> {
  const { custom_attributes } = player;
  const fields = { ...custom_attributes, ...ownFields(player) };
  const { context = null, journey = { context }, bonus = null, unsubscribe_url = null } = extra;
  return {
    ...fields,
    player: { ...fields, custom_attributes },
    context,
    journey,
    bonus,
    unsubscribe_url,
  };
}

/**
 * The fields by their names in the player resource. One that the row lacks is null: what a webhook is made of may have
 * been kept by a version with fewer fields.
 */
function ownFields(player: ScopePlayer): Record<string, unknown> {
  return {
    id: player.player_id,
    player_id: player.player_id,
    external_id: player.external_id,
    email: player.email,
    phone: player.phone,
    telegram_id: player.telegram_id ?? null,
    anonymous_ids: player.anonymous_ids ?? null,
    status: player.player_status ?? null,
    timezone: player.timezone,
    first_seen_at: timeText(player.first_seen_at),
    last_seen_at: timeText(player.last_seen_at),
    total_deposited: wholeNumber(player.total_deposited),
    total_withdrawn: wholeNumber(player.total_withdrawn),
    total_wagered: wholeNumber(player.total_wagered),
    total_won: wholeNumber(player.total_won),
    total_bonus_wagered: wholeNumber(player.total_bonus_wagered),
    total_bonus_won: wholeNumber(player.total_bonus_won),
    total_credited: wholeNumber(player.total_credited),
    total_debited: wholeNumber(player.total_debited),
    ggr: wholeNumber(player.ggr),
    ngr: wholeNumber(player.ngr),
    bet_count: wholeNumber(player.bet_count),
    session_count: wholeNumber(player.session_count),
    pending_conversions: wholeNumber(player.pending_conversions),
    default_currency_code: player.default_currency_code,
    current_tier_code: player.current_tier_code,
    tier_promoted_at: timeText(player.tier_promoted_at),
    kyc_status: player.kyc_status ?? null,
    kyc_level: player.kyc_level ?? null,
    churn_score: player.churn_score ?? null,
    ltv_predicted: player.ltv_predicted ?? null,
    created_at: timeText(player.player_created_at),
    updated_at: timeText(player.player_updated_at),
    deleted_at: timeText(player.player_deleted_at),
  };
}

function wholeNumber(digits: string | null | undefined): number | ExactNumber | null {
  return digits === null || digits === undefined ? null : wholeOf(digits);
}

function timeText(time: Time | null | undefined): string | null {
  return time === null || time === undefined ? null : new Date(time).toISOString();
}

/** The player of previews that name none. */
export const SYNTHETIC_PLAYER: ScopePlayer = {
  player_id: '00000000-0000-4000-8000-000000000000',
  external_id: 'player-1',
  email: 'alex.sample@example.com',
  phone: '+35621000000',
  telegram_id: '100000001',
  anonymous_ids: ['device-1'],
  player_status: 'active',
  timezone: 'Europe/Malta',
  first_seen_at: '2026-01-05T09:30:00.000Z',
  last_seen_at: '2026-03-14T20:15:00.000Z',
  total_deposited: '250000',
  total_withdrawn: '80000',
  total_wagered: '1240000',
  total_won: '1150000',
  total_bonus_wagered: '40000',
  total_bonus_won: '30000',
  total_credited: '5000',
  total_debited: '0',
  ggr: '90000',
  ngr: '75000',
  bet_count: '412',
  session_count: '57',
  pending_conversions: '0',
  default_currency_code: 'EUR',
  current_tier_code: 'gold',
  tier_promoted_at: '2026-02-20T12:00:00.000Z',
  kyc_status: 'approved',
  kyc_level: 2,
  churn_score: 0.12,
  ltv_predicted: 1_800.5,
  player_created_at: '2026-01-05T09:30:00.000Z',
  player_updated_at: '2026-03-14T20:15:00.000Z',
  player_deleted_at: null,
  custom_attributes: {
    first_name: 'Alex',
    last_name: 'Sample',
    username: 'alex',
    language: 'en',
    country: 'MT',
  },
};

/** The bonus of {@link SYNTHETIC_PLAYER}. */
export const SYNTHETIC_BONUS: ScopeBonus = {
  id: '00000000-0000-4000-8000-000000000001',
  code: 'WELCOME100',
  name: 'Welcome bonus',
  type: 'deposit_match',
  status: 'active',
  currency: 'EUR',
  amount: 10_000,
  wagering_required: 100_000,
  wagering_progress: 25_000,
  expires_at: '2030-01-31T12:00:00.000Z',
};
