import type { Amount } from '../../api/currencies.ts';
import type { Int } from '../../api/json.ts';
import { useList, useRead } from '../../api/queries.ts';

/** A player (spec part 2), as far as the screens show it. */
export interface PlayerRecord {
  id: string;
  external_id: string | null;
  email: string | null;
  phone: string | null;
  telegram_id: string | null;
  anonymous_ids: readonly string[];
  status: string;
  timezone: string | null;
  first_seen_at: string;
  last_seen_at: string;
  total_deposited: Int;
  total_withdrawn: Int;
  total_wagered: Int;
  total_won: Int;
  ggr: Int;
  bet_count: Int;
  session_count: Int;
  pending_conversions: Int;
  current_tier_code: string | null;
  kyc_status: string;
  kyc_level: number;
  custom_attributes: Readonly<Record<string, unknown>>;
}

export const STATUSES = ['active', 'self_excluded', 'banned', 'conflict', 'deleted'] as const;

export function usePlayers(status: string | undefined) {
  return useList<PlayerRecord>('/v1/players', { status });
}

const PROFILE_REFRESH_MS = 10_000;

export function usePlayer(id: string) {
  return useRead<PlayerRecord>(`/v1/players/${id}`, {}, { refresh_ms: PROFILE_REFRESH_MS });
}

/** An event of the timeline. */
export interface TimelineEntry {
  ingestion_id: string;
  event: string;
  timestamp: string;
  properties: Readonly<Record<string, unknown>>;
}

export function useTimeline(id: string) {
  return useList<TimelineEntry>(`/v1/players/${id}/timeline`);
}

/** A message that was sent to the player, or why it was not. */
export interface MessageRecord {
  id: string;
  channel: string;
  recipient: string | null;
  status: string;
  error_code: string | null;
  enqueued_at: string;
  sent_at: string | null;
}

export function useMessages(id: string) {
  return useList<MessageRecord>(`/v1/players/${id}/messages`);
}

/** A segment that the player is a member of. */
export interface Membership {
  segment_id: string;
  name: string;
  entered_at: string;
}

export function useMemberships(id: string) {
  return useList<Membership>(`/v1/players/${id}/segments`);
}

/** A run of a journey, without its steps. */
export interface JourneyRun {
  run_id: string;
  journey_id: string;
  journey_name: string;
  status: string;
  started_at: string;
  completed_at: string | null;
}

export function useJourneyRuns(id: string) {
  return useList<JourneyRun>(`/v1/players/${id}/journeys`);
}

/** A change of the player, and who made it. */
export interface AuditRecord {
  id: string;
  occurred_at: string;
  actor: { kind: 'session'; user_id: string; role: string } | { kind: 'internal' };
  action: string;
  before: Readonly<Record<string, unknown>> | null;
  after: Readonly<Record<string, unknown>> | null;
}

export function useAudit(id: string) {
  return useList<AuditRecord>(`/v1/players/${id}/audit`);
}

/** A row of the money ledger. */
export interface LedgerRow {
  event: string;
  reference: string;
  at: string;
  ingestion_id: string;
  event_index: number;
  /** Null for a payout alone. */
  amount: Int | null;
  payout: Int | null;
  currency: string | null;
  /** Null: it waits for a rate. */
  base_amount: Int | null;
  rate: string | null;
  rate_ts: string | null;
}

export function useLedger(id: string) {
  return useList<LedgerRow>(`/v1/players/${id}/ledger`);
}

/** Whether a channel reaches the player, and if not, why. */
export interface Reachability {
  channel: string;
  verdict: string;
  codes: readonly string[];
  caps: Readonly<Record<'day' | 'week', { used: number; limit: number | null }>>;
  quiet_until: string | null;
  consent: boolean | null;
  suppressed: boolean;
}

export function useReachability(id: string) {
  return useRead<readonly Reachability[]>(`/v1/players/${id}/reachability`);
}

/** A bonus of the player. */
export interface GrantRecord {
  id: string;
  status: string;
  currency: string;
  bonus_amount: Amount;
  wagering_progress: Amount;
  wagering_required: Amount;
  status_reason: string | null;
  needs_review: boolean;
  created_at: string;
}

export function useGrants(player_id: string) {
  return useList<GrantRecord>('/v1/bonus-grants', { player_id });
}

/** A change of the player's tier. */
export interface TierEntry {
  from_code: string | null;
  to_code: string | null;
  trigger: string;
  context: Readonly<Record<string, unknown>>;
  occurred_at: string;
}

/** The tier of the player, with its newest 200 changes, the newest first. */
export interface PlayerTier {
  current_tier_code: string | null;
  tier_promoted_at: string | null;
  tier_locked: boolean;
  pending_approval: string | null;
  history: readonly TierEntry[];
}

export function useTierHistory(id: string) {
  return useRead<PlayerTier>(`/v1/players/${id}/tier`);
}
