import { useList, useRead } from '../../api/queries.ts';

/** What began or ended an exclusion. */
export interface Cause {
  source: 'event' | 'operator' | 'merge' | 'before_records';
  ingestion_id: string | null;
  event_index: number | null;
}

/** A time in which a player gets nothing. */
export interface Exclusion {
  id: string;
  player_id: string;
  external_id: string | null;
  merged_into: string | null;
  kind: 'self_exclusion' | 'cooldown';
  state: 'active' | 'ended';
  since: string;
  accepted_at: string;
  recorded_at: string;
  until: string | null;
  cause: Cause;
  end: (Cause & { lifted_at: string | null }) | null;
}

export interface ListFilters {
  state?: string | undefined;
  kind?: string | undefined;
  player?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export function useExclusions({ state, kind, player, from, to }: ListFilters) {
  const query = { state, kind, player_id: player, from: inUtc(from), to: inUtc(to) };
  return useList<Exclusion>('/v1/compliance/exclusions', query);
}

/** A message or a bonus that was handed over. */
export interface HandedOver {
  kind: 'message' | 'bonus';
  id: string;
  channel: string | null;
  campaign_name: string | null;
  journey_name: string | null;
  status: string;
  error_code: string | null;
  made_at: string;
  decided_at: string;
  handed_over_at: string | null;
}

export interface ProvenExclusion extends Exclusion {
  messages: number;
  bonuses: number;
  handed_over: readonly HandedOver[];
  under_way: readonly HandedOver[];
  blocked: readonly { kind: 'message' | 'bonus'; code: string; count: number }[];
}

export interface Proof {
  player_id: string;
  external_id: string | null;
  merged_player_ids: readonly string[];
  as_of: string;
  messages: number;
  bonuses: number;
  is_complete: boolean;
  exclusions: readonly ProvenExclusion[];
}

export function useProof(id: string) {
  return useRead<Proof>(`/v1/compliance/exclusions/${id}/proof`);
}

/** A message that was held back. */
export interface BlockedSend {
  id: string;
  player_id: string;
  external_id: string | null;
  channel: string;
  code: string;
  at: string;
  campaign_name: string | null;
  journey_name: string | null;
}

export const BLOCKING_CODES = [
  'SKIPPED_SELF_EXCLUDED',
  'SKIPPED_COOLDOWN',
  'SKIPPED_AT_RISK',
  'SKIPPED_BANNED',
] as const;

export function useBlockedSends({ code, player, from, to }: ListFilters & { code?: string | undefined }) {
  const query = { code, player_id: player, from: inUtc(from), to: inUtc(to) };
  return useList<BlockedSend>('/v1/compliance/blocked-sends', query);
}

/** A player whose ids name two people. */
export interface Conflict {
  player_id: string;
  external_id: string | null;
  anonymous_ids: readonly string[];
  created_at: string;
}

export function useConflicts() {
  return useList<Conflict>('/v1/compliance/conflicts');
}

/** A player whose verification waits. */
export interface KycWaiting {
  player_id: string;
  external_id: string | null;
  kyc_level: number;
  requested_level: number | null;
  since: string | null;
}

export function useKycQueue() {
  return useList<KycWaiting>('/v1/compliance/kyc-queue');
}

export interface Licence {
  license_jurisdiction: string | null;
  kyc_model: string;
  rg_features: readonly string[];
  rules: readonly {
    id: string;
    severity: 'enforce' | 'warn' | 'info';
    applies_to: readonly string[];
    summary: string;
    source: string;
    evidence: string;
  }[];
}

export function useLicence() {
  return useRead<Licence>('/v1/compliance/licence');
}

/** A change in the tenant, and who made it. */
export interface AuditEntry {
  id: string;
  occurred_at: string;
  actor: { kind: 'session'; user_id: string; role: string } | { kind: 'internal' };
  action: string;
  resource_type: string;
  resource_id: string;
  before: Readonly<Record<string, unknown>> | null;
  after: Readonly<Record<string, unknown>> | null;
}

export interface AuditFilters {
  user?: string | undefined;
  action?: string | undefined;
  resource?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export function useAuditLog({ user, action, resource, from, to }: AuditFilters) {
  const query = { user_id: user, action, resource_id: resource, from: inUtc(from), to: inUtc(to) };
  return useList<AuditEntry>('/v1/audit-log', query);
}

/** The value of a field for date and time, which names no zone, as a time in UTC. */
function inUtc(local: string | undefined): string | undefined {
  return local === undefined ? undefined : `${local.length === 16 ? `${local}:00` : local}Z`;
}
