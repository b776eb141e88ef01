import type { BlockedSend, Exclusion, ExclusionProof } from '@player-engagement/client';
import { oneOf, useList, useRead, type FiltersIn } from '../../api/queries.ts';
import { fromUtcField } from '../../format/time.ts';
import { uuidOf } from '../../format/uuid.ts';

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
  const range = { from: fromUtcField(from), to: fromUtcField(to) };
  const query = {
    state: oneOf(STATES, state),
    kind: oneOf(KINDS, kind),
    player_id: uuidOf(player),
    ...range,
  };
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
  const range = { from: fromUtcField(from), to: fromUtcField(to) };
  return useList('compliance.blockedSends', [
    { code: oneOf(BLOCKING_CODES, code), player_id: uuidOf(player), ...range },
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

/** All actions: one that the API has and this list has not is an error of types. */
const IS_ACTION: Record<NonNullable<FiltersIn<'auditLog.list'>['action']>, true> = {
  create: true,
  update: true,
  delete: true,
  revoke: true,
  send: true,
  cancel: true,
  retry_failed: true,
  send_test: true,
  replay: true,
  refresh: true,
  activate: true,
  pause: true,
  publish: true,
  migrate: true,
  request: true,
  approve: true,
  rotate_secret: true,
  issue: true,
  resolve: true,
  reveal: true,
};
export const ACTIONS = Object.keys(IS_ACTION) as (keyof typeof IS_ACTION)[];

export function useAuditLog({ user, action, resource, from, to }: AuditFilters) {
  const range = { from: fromUtcField(from), to: fromUtcField(to) };
  const query = { user_id: user, action: oneOf(ACTIONS, action), resource_id: resource, ...range };
  return useList('auditLog.list', [query]);
}
