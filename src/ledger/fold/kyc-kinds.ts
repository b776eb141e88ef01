import type { EventName } from '../../ingest/events/catalogue.ts';
import type { KycKind } from '../../protection/kyc/decide.ts';

const KINDS: Partial<Record<EventName, KycKind>> = {
  kyc_submitted: 'submitted',
  kyc_approved: 'approved',
  kyc_rejected: 'rejected',
  kyc_expired: 'expired',
  kyc_level_upgraded: 'level_upgraded',
};

/** What an event says about its player's KYC; undefined for events that say nothing about it. */
export function kycKindOf(event: string): KycKind | undefined {
  return KINDS[event as EventName];
}
