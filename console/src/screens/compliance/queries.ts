import type { BlockedSend, Exclusion, ExclusionProof } from '@player-engagement/client/admin';
import { everyOf, oneOf } from '../../api/choices.ts';
import { useList, useRead, type FiltersIn } from '../../api/queries.ts';
import { fromUtcField } from '../../format/time.ts';
import { uuidOf } from '../../format/uuid.ts';

export type {
  AuditLogEntry as AuditEntry,
  BlockedSend,
  Erasure,
  Exclusion,
  ExclusionProof as Proof,
  IdentityConflict as Conflict,
  KycWaiting,
  LicenceInForce as Licence,
  PeriodProof,
} from '@player-engagement/client/admin';

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

const STATES = everyOf<Exclusion['state']>()(['active', 'ended']);
const KINDS = everyOf<Exclusion['kind']>()(['self_exclusion', 'cooldown']);

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

/** A page takes a second: each row is the proof of a player. */
const PROVED_AT_ONCE = 50;

/** The exclusions in force in a period, with what was handed over in it; all pages. */
export function usePeriodProof(from: string, to: string) {
  return useList('compliance.periodProof', [{ from, to }], { page: PROVED_AT_ONCE, is_whole: true });
}

export const BLOCKING_CODES = everyOf<BlockedSend['code']>()([
  'SKIPPED_SELF_EXCLUDED',
  'SKIPPED_COOLDOWN',
  'SKIPPED_AT_RISK',
  'SKIPPED_BANNED',
]);

export function useBlockedSends({ code, player, from, to }: ListFilters & { code?: string | undefined }) {
  const range = { from: fromUtcField(from), to: fromUtcField(to) };
  return useList('compliance.blockedSends', [
    { code: oneOf(BLOCKING_CODES, code), player_id: uuidOf(player), ...range },
  ]);
}

export function useConflicts() {
  return useList('compliance.conflicts.list', []);
}

/** Who was erased, the newest first. */
export function useErasures() {
  return useList('erasures.list', []);
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

export const ACTIONS = everyOf<NonNullable<FiltersIn<'auditLog.list'>['action']>>()([
  'create',
  'update',
  'delete',
  'revoke',
  'send',
  'cancel',
  'retry_failed',
  'send_test',
  'replay',
  'refresh',
  'activate',
  'pause',
  'publish',
  'migrate',
  'request',
  'approve',
  'rotate_secret',
  'issue',
  'exclude',
  'lift',
  'resolve',
  'reveal',
  'erase',
  'export',
]);

export function useAuditLog({ user, action, resource, from, to }: AuditFilters) {
  const range = { from: fromUtcField(from), to: fromUtcField(to) };
  const query = { user_id: user, action: oneOf(ACTIONS, action), resource_id: resource, ...range };
  return useList('auditLog.list', [query]);
}
