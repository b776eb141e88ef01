import { revisionSql } from './epoch-queries.ts';

/** How Postgres and ClickHouse write a mirrored value as text, so that equal values are equal texts. */
export type ColumnKind = 'text' | 'integer' | 'float' | 'time';

/** An integer that ClickHouse could not read has 19 digits and more: most attributes are copied as they are. */
const ATTRIBUTES = `case when p.custom_attributes::text ~ '[0-9]{19}' then stored_json(p.custom_attributes)
    else p.custom_attributes::text end`;

/**
 * Net gaming revenue of the totals `t` in SQL: ggr less what bonus money staked, plus what it won, less what was credited, plus
 * what was debited (docs/feeds.md, What counts how). A numeric, since the parts may fill 64 bits.
 */
export const NGR_SQL = `(t.total_wagered::numeric - t.total_won - t.total_bonus_wagered + t.total_bonus_won
  - t.total_credited + t.total_debited)`;

/** The time of the last event of the totals `t` in SQL. */
export const LAST_SEEN_SQL = 'coalesce(t.seen_at, t.listed_at)';

/**
 * `listed_at` of totals, by which lists are sorted, is less than this before the last event: it is in an index, which a
 * change of it writes.
 */
export const LISTED_WITHIN_MS = 300_000;

/**
 * The columns of ClickHouse's `players` other than the player's key, with their expressions in Postgres (`p` is players,
 * `t` is player_totals). player-mirror copies them, reconcile compares them, and a test compares this list with the
 * table.
 */
export const MIRRORED = [
  { name: 'external_id', source: 'p.external_id', kind: 'text' },
  { name: 'email', source: 'p.email', kind: 'text' },
  { name: 'phone', source: 'p.phone', kind: 'text' },
  { name: 'telegram_id', source: 'p.telegram_id', kind: 'text' },
  { name: 'status', source: 'p.status', kind: 'text' },
  { name: 'timezone', source: 'p.timezone', kind: 'text' },
  { name: 'default_currency_code', source: 'p.default_currency_code', kind: 'text' },
  { name: 'current_tier_code', source: 'p.current_tier_code', kind: 'text' },
  { name: 'tier_promoted_at', source: 'p.tier_promoted_at', kind: 'time' },
  { name: 'kyc_status', source: 'p.kyc_status', kind: 'text' },
  { name: 'kyc_level', source: 'p.kyc_level', kind: 'integer' },
  { name: 'churn_score', source: 'p.churn_score', kind: 'float' },
  { name: 'ltv_predicted', source: 'p.ltv_predicted', kind: 'float' },
  { name: 'custom_attributes', source: ATTRIBUTES, kind: 'text' },
  { name: 'first_seen_at', source: 't.first_seen_at', kind: 'time' },
  { name: 'last_seen_at', source: LAST_SEEN_SQL, kind: 'time' },
  { name: 'total_deposited', source: 't.total_deposited', kind: 'integer' },
  { name: 'total_withdrawn', source: 't.total_withdrawn', kind: 'integer' },
  { name: 'total_wagered', source: 't.total_wagered', kind: 'integer' },
  { name: 'total_won', source: 't.total_won', kind: 'integer' },
  { name: 'total_bonus_wagered', source: 't.total_bonus_wagered', kind: 'integer' },
  { name: 'total_bonus_won', source: 't.total_bonus_won', kind: 'integer' },
  { name: 'total_credited', source: 't.total_credited', kind: 'integer' },
  { name: 'total_debited', source: 't.total_debited', kind: 'integer' },
  { name: 'ggr', source: 't.total_wagered - t.total_won', kind: 'integer' },
  { name: 'ngr', source: NGR_SQL, kind: 'integer' },
  { name: 'bet_count', source: 't.bet_count', kind: 'integer' },
  { name: 'session_count', source: 't.session_count', kind: 'integer' },
  { name: 'first_deposit_at', source: 't.first_deposit_at', kind: 'time' },
  { name: 'created_at', source: 'p.created_at', kind: 'time' },
  { name: 'deleted_at', source: 'p.deleted_at', kind: 'time' },
  { name: 'revision', source: revisionSql('t.changed_xid::text::numeric'), kind: 'integer' },
] as const satisfies readonly { name: string; source: string; kind: ColumnKind }[];
