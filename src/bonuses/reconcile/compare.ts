import { v5 } from 'uuid';
import type { PlatformBonus, StatusAnswer } from '../../adapters/platform.ts';
import type { GrantReport } from '../grants/apply.ts';
import { reportOfStatus } from '../grants/conclude.ts';
import { factsOf, type GrantRow } from '../grants/grant-row.ts';

/** How long after its end an active grant is taken for expired, where the platform cannot be asked. */
const EXPIRED_AFTER_MS = 24 * 3_600_000;

/** A grant as it is compared. */
export interface ComparedGrant extends GrantRow {
  /** What its bets come to by our own count, in the smallest unit, also where the platform's total is shown instead. */
  counted_progress: string;
}

/** What a comparison of a grant with its platform has found. */
export type Finding =
  | { kind: 'same' }
  /** The platform has moved on, and no webhook has said so. */
  | { kind: 'report'; report: GrantReport }
  /** Both say that the bonus goes on, with other figures. */
  | { kind: 'mismatched'; fields: readonly string[] }
  /** The platform does not know a bonus that it had credited. */
  | { kind: 'missing' }
  /** It could not be asked. */
  | { kind: 'failed'; message: string };

/** Compares a live grant with what its platform says of it. */
export function compareGrant(grant: ComparedGrant, answer: StatusAnswer, now: Date): Finding {
  switch (answer.kind) {
    case 'found':
      return compareFound(grant, answer.bonus, now);
    case 'missing':
      // What was not credited yet is the sender's: it asks, and sends again with the same key.
      return grant.status === 'active' ? { kind: 'missing' } : { kind: 'same' };
    case 'unsupported':
      return expiredByClock(grant, now);
    case 'unsent':
    case 'unknown':
      return { kind: 'failed', message: answer.message };
  }
}

function compareFound(grant: ComparedGrant, bonus: PlatformBonus, now: Date): Finding {
  const is_ended = bonus.status !== 'pending' && bonus.status !== 'active';
  if (is_ended || (grant.status === 'pending' && bonus.status === 'active')) {
    return { kind: 'report', report: reportOfStatus(bonus, 'reconciliation', now) };
  }
  const { platform_bonus_id } = factsOf(grant);
  const counted = grant.progress_source === 'platform' ? BigInt(grant.counted_progress) : 0n;
  const differs = {
    platform_bonus_id: platform_bonus_id !== null && bonus.platform_bonus_id !== platform_bonus_id,
    // What is still active here, and waits there.
    status: grant.status !== bonus.status,
    bonus_amount: bonus.amount !== undefined && bonus.amount !== BigInt(grant.bonus_amount),
    wagering_progress: isApart(BigInt(grant.wagering_progress), bonus.total_wagered),
    // Without any bet there is nothing to compare: this service is not sent the bets of every platform.
    counted_progress: counted > 0n && isApart(counted, bonus.total_wagered),
  };
  const fields = Object.entries(differs).flatMap(([field, is_different]) => (is_different ? [field] : []));
  return fields.length === 0 ? { kind: 'same' } : { kind: 'mismatched', fields };
}

/** Whether ours differs from theirs by more than 1 %. */
function isApart(ours: bigint, theirs: bigint | undefined): boolean {
  if (theirs === undefined) return false;
  const apart = ours > theirs ? ours - theirs : theirs - ours;
  return apart * 100n > theirs;
}

function expiredByClock(grant: GrantRow, now: Date): Finding {
  const { grant_id, status, expires_at } = grant;
  if (status !== 'active' || expires_at === null) return { kind: 'same' };
  if (now.getTime() - expires_at.getTime() < EXPIRED_AFTER_MS) return { kind: 'same' };
  const event = { name: 'bonus.expired', at_ms: expires_at.getTime(), is_presumed: true } as const;
  const event_id = v5('expired by the clock', grant_id);
  return {
    kind: 'report',
    report: { event, source: 'clock', event_id, received_at: now, data: { expires_at } },
  };
}
