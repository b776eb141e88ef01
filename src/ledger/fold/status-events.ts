import { MAX_KYC_LEVEL, type EventName } from '../../ingest/events/catalogue.ts';
import { parseStoredTime } from '../../ingest/events/timestamp.ts';

const COOLDOWN_MS = 24 * 3_600_000;

/**
 * Changes that responsible-gaming and KYC events make to one player. The latest event by event time wins; among pauses
 * the one that ends last wins.
 */
export interface StatusChange {
  self_excluded?: { value: boolean; at_ms: number };
  kyc_status?: { value: string; at_ms: number };
  kyc_level?: { value: number; at_ms: number };
  /** When the pause that the player asked for ends. */
  cooldown_until_ms?: number;
}

/** The values of kyc_status; a check constraint of the table `players` has the same ones. */
export const KYC_STATUSES = ['none', 'pending', 'approved', 'rejected', 'expired'] as const;

const KYC_STATUS: Partial<Record<EventName, (typeof KYC_STATUSES)[number]>> = {
  kyc_submitted: 'pending',
  kyc_approved: 'approved',
  kyc_rejected: 'rejected',
  kyc_expired: 'expired',
};

/** The change an event makes, or undefined. `at_ms` is the event's time, but never after it was received. */
export function statusChangeOf(
  event: string,
  properties: Record<string, unknown>,
  at_ms: number,
): StatusChange | undefined {
  if (event === 'self_exclusion_set') return { self_excluded: { value: true, at_ms } };
  if (event === 'self_exclusion_lifted') return { self_excluded: { value: false, at_ms } };
  if (event === 'cooldown_entered') return { cooldown_until_ms: cooldownEnd(properties['until'], at_ms) };
  const status = KYC_STATUS[event as EventName];
  if (status === undefined && event !== 'kyc_level_upgraded') return undefined;
  const level = properties['level'];
  return {
    ...(status === undefined ? {} : { kyc_status: { value: status, at_ms } }),
    ...(isKycLevel(level) ? { kyc_level: { value: level, at_ms } } : {}),
  };
}

function cooldownEnd(until: unknown, at_ms: number): number {
  return (typeof until === 'string' ? parseStoredTime(until) : undefined) ?? at_ms + COOLDOWN_MS;
}

function isKycLevel(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_KYC_LEVEL;
}

/**
 * Joins two changes of one player; `later` follows `earlier` on the log. At equal event times `later` wins, but an
 * event of the same millisecond never lifts an exclusion. A pause is never shortened.
 */
export function joinChanges(earlier: StatusChange, later: StatusChange): StatusChange {
  const joined: StatusChange = { ...earlier };
  const { self_excluded, kyc_status, kyc_level, cooldown_until_ms } = later;
  if (self_excluded !== undefined && supersedes(self_excluded, earlier.self_excluded))
    joined.self_excluded = self_excluded;
  if (kyc_status !== undefined && kyc_status.at_ms >= (earlier.kyc_status?.at_ms ?? -Infinity))
    joined.kyc_status = kyc_status;
  if (kyc_level !== undefined && kyc_level.at_ms >= (earlier.kyc_level?.at_ms ?? -Infinity))
    joined.kyc_level = kyc_level;
  if (cooldown_until_ms !== undefined)
    joined.cooldown_until_ms = Math.max(cooldown_until_ms, earlier.cooldown_until_ms ?? -Infinity);
  return joined;
}

function supersedes(next: { value: boolean; at_ms: number }, last: { at_ms: number } | undefined): boolean {
  if (last === undefined || next.at_ms > last.at_ms) return true;
  return next.at_ms === last.at_ms && next.value;
}
