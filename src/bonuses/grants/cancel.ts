import { ApiError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { attemptCall } from './calls.ts';
import { conclude, endUnsent } from './conclude.ts';
import { claimLocked, updateCall } from './call-queries.ts';
import type { GrantDeps } from './create.ts';
import { grantJson, type GrantRef, type GrantRow } from './grant-row.ts';
import { CALL_MS, unavailable } from './issue.ts';
import { lockGrant } from './queries.ts';
import { GRANT } from './read.ts';
import { isLive } from './transition.ts';

/** The reason of a cancelled grant when the caller gives none. */
const REQUESTED = 'requested';

/**
 * POST /v1/bonus-grants/:id/cancel: a grant of which nothing was sent is cancelled at once; otherwise the platform is
 * asked first, outside of a transaction, and its answer decides. Rejects with BONUS_GRANT_NOT_FOUND,
 * BONUS_GRANT_INVALID_STATUS (also when the bonus has ended at the platform), ADAPTER_REJECTED, or ADAPTER_UNAVAILABLE:
 * then the cancellation is queued.
 */
export async function cancelGrant(
  deps: GrantDeps & { audit: AuditChange },
  ref: GrantRef,
  reason = REQUESTED,
): Promise<GrantRow> {
  const { postgres, clock, audit } = deps;
  const recorded = async (tx: Parameters<AuditChange>[0], before: GrantRow, after: GrantRow) => {
    const { tenant_id, project_id, grant_id: resource_id } = ref;
    const [was, is] = [grantJson(before), grantJson(after)];
    await audit(tx, { tenant_id, project_id, resource_id, before: was, after: is });
    return after;
  };
  const begun = await retryConflicts(() =>
    postgres.asTenant(ref.tenant_id, async (tx) => {
      const before = requireRow(GRANT, ref, await lockGrant(tx, ref));
      if (!isLive(before.status)) throw ended(before);
      const now = new Date(clock.now_ms());
      if (before.status === 'pending' && before.outcome === 'unsent' && !before.may_be_sent) {
        return { done: await recorded(tx, before, await endUnsent(tx, before, now, reason)) };
      }
      // While a call is being made, a cancellation would overtake it.
      const is_calling = before.outcome === 'sent' && (before.next_attempt_at ?? now) > now;
      const asked = await updateCall(
        tx,
        before,
        {
          ...before,
          cancel_requested_at: before.cancel_requested_at ?? now,
          cancel_reason: before.cancel_reason ?? reason,
        },
        now,
      );
      await recorded(tx, before, asked);
      if (is_calling) return { busy: asked };
      return { claimed: await claimLocked(tx, asked, new Date(now.getTime() + CALL_MS)) };
    }),
  );
  if (begun.done !== undefined) return begun.done;
  if (begun.busy !== undefined) {
    throw unavailable(
      begun.busy,
      'the platform is just being asked to grant the bonus; the cancellation is queued',
    );
  }
  const { claimed } = begun;
  // Nothing is granted here, so nobody looks at the player.
  const conclusion = await attemptCall(deps, claimed, () => Promise.resolve({ kind: 'behind' }));
  const row = await retryConflicts(() =>
    postgres.asTenant(ref.tenant_id, (tx) => conclude(tx, claimed, conclusion, new Date(clock.now_ms()))),
  );
  if (row.status === 'cancelled') return row;
  if (!isLive(row.status)) throw ended(row);
  if (conclusion.kind === 'cancel_refused') {
    const { code, message } = conclusion;
    throw new ApiError('ADAPTER_REJECTED', `the platform refused to cancel the bonus: ${code}, ${message}`, {
      details: { platform_code: code, grant_id: row.grant_id },
    });
  }
  if (conclusion.kind === 'cancel_too_late') throw ended(row, 'has ended at the platform');
  throw unavailable(row, 'the platform gave no answer; the cancellation is queued');
}

function ended({ grant_id, status }: GrantRow, how = `is ${status}`): ApiError {
  const message = `grant ${grant_id} ${how}: only a pending or active one can be cancelled`;
  return new ApiError('BONUS_GRANT_INVALID_STATUS', message, { details: { status } });
}
