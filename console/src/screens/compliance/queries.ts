import type { BlockedSend, Exclusion, ExclusionProof } from '@player-engagement/client';
import { oneOf, useList, useRead, type FiltersIn } from '../../api/queries.ts';

export type {
  AuditLogEntry as AuditEntry,
  BlockedSend,
  Exclusion,
  ExclusionProof as Proof,
  IdentityConflict as Conflict,
  KycWaiting,
  LicenceInForce as Licence,
} from '@player-engagement/client';

/** What began or ended an exclusion. */
export type Cause = Exclusion['cause'];
export type ProvenExclusion = ExclusionProof['exclusions'][number];
/** A message or a bonus that was handed over. */
export type HandedOver = ProvenExclusion['handed_over'][number];

export interface ListFilters {
  state?: string | undefined;
  kind?: string | undefined;
  player?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

const STATES = ['active', 'ended'] as const satisfies readonly Exclusion['state'][];
const KINDS = ['self_exclusion', 'cooldown'] as const satisfies readonly Exclusion['kind'][];

export function useExclusions({ state, kind, player, from, to }: ListFilters) {
  const range = { from: inUtc(from), to: inUtc(to) };
  const query = { state: oneOf(STATES, state), kind: oneOf(KINDS, kind), player_id: player, ...range };
  return useList('compliance.exclusions.list', [query]);
}

export function useProof(id: string) {
  return useRead('compliance.exclusions.proof', [id]);
}

export const BLOCKING_CODES = [
  'SKIPPED_SELF_EXCLUDED',
  'SKIPPED_COOLDOWN',
  'SKIPPED_AT_RISK',
  'SKIPPED_BANNED',
] as const satisfies readonly BlockedSend['code'][];

export function useBlockedSends({ code, player, from, to }: ListFilters & { code?: string | undefined }) {
  const range = { from: inUtc(from), to: inUtc(to) };
  return useList('compliance.blockedSends', [
    { code: oneOf(BLOCKING_CODES, code), player_id: player, ...range },
  ]);
}

export function useConflicts() {
  return useList('compliance.conflicts.list', []);
}

export function useKycQueue() {
  return useList('compliance.kycQueue', []);
}

export function useLicence() {
  return useRead('compliance.licence', []);
}

export interface AuditFilters {
  user?: string | undefined;
  action?: string | undefined;
  resource?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export function useAuditLog({ user, action, resource, from, to }: AuditFilters) {
  const range = { from: inUtc(from), to: inUtc(to) };
  const query = { user_id: user, action: action as AuditedAction, resource_id: resource, ...range };
  return useList('auditLog.list', [query]);
}
/** The API says which actions there are: another one finds nothing. */
type AuditedAction = FiltersIn<'auditLog.list'>['action'];

/** The value of a field for date and time, which names no zone, as a time in UTC. */
function inUtc(local: string | undefined): string | undefined {
  return local === undefined ? undefined : `${local.length === 16 ? `${local}:00` : local}Z`;
}
