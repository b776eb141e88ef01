import { ApiError, validationError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { MAX_KYC_LEVEL } from '../../ingest/events/catalogue.ts';
import { newId } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { selectChosenKycModel } from '../../tenants/config/queries.ts';
import type { PlayerRef } from '../player-ref.ts';
import { playerNotFound, withSurvivor } from '../profile/read.ts';
import { applyDecision, type Applied, type LockedKyc } from './apply.ts';
import { queueCall, type CallerDeps, type KycCaller, type NewCall } from './calls.ts';
import type { NewDecision } from '../../protection/kyc/decision-queries.ts';
import { mayOperatorDecide } from '../../protection/kyc/decide.ts';
import { selectKyc, type KycRow } from './queries.ts';
import type { ApproveKycBody, KycResource, RequestKycBody, RevokeKycBody } from './schema.ts';

/** The dependencies of an operator's decision. */
export interface ChangeDeps extends Omit<CallerDeps, 'platforms'> {
  caller: Pick<KycCaller, 'tryNow' | 'wantsToKnow'>;
  audit: AuditChange;
  user_id: string;
}

/** What an operator wants: the decision, and what is sent to the platform about it. */
interface Plan {
  decision: Pick<NewDecision, 'kind' | 'level' | 'expires_at_ms' | 'reason' | 'requirements' | 'event'>;
  callOf: (applied: Applied) => NewCall;
}

/** Opens a case: the player is asked for documents. Rejects with FORBIDDEN (by model) and PLAYER_NOT_FOUND. */
export function requestKyc(deps: ChangeDeps, ref: PlayerRef, body: RequestKycBody): Promise<KycResource> {
  const { requirements = [], reason = null } = body ?? {};
  return change(deps, ref, ({ state }) => {
    const level = body?.level ?? Math.min(state.level + 1, MAX_KYC_LEVEL);
    return {
      decision: {
        kind: 'submitted',
        level,
        expires_at_ms: null,
        reason,
        requirements,
        event: 'kyc_submitted',
      },
      callOf: () => ({ action: 'initiate', level, requirements }),
    };
  });
}

/** Approves a level. Rejects as {@link requestKyc}, and with KYC_INVALID_STATUS below the approved level. */
export function approveKyc(deps: ChangeDeps, ref: PlayerRef, body: ApproveKycBody): Promise<KycResource> {
  const { level, note: reason = null } = body;
  const expires_at_ms = body.expires_at === undefined ? null : Date.parse(body.expires_at);
  if (expires_at_ms !== null && expires_at_ms <= deps.clock.now_ms())
    throw validationError([{ path: 'expires_at', message: `must be in the future, not ${body.expires_at}` }]);
  return change(deps, ref, ({ state }) => {
    if (state.status === 'approved' && level < state.level)
      throw invalidStatus(`level ${level} is below the approved level ${state.level}: revoke first`);
    return {
      decision: { kind: 'approved', level, expires_at_ms, reason, event: 'kyc_approved' },
      callOf: ({ after }) => ({ action: 'update', status: after.status, level: after.level, reason }),
    };
  });
}

/**
 * Takes an approval back, or refuses a pending case. Rejects as {@link requestKyc}, and with KYC_INVALID_STATUS when there
 * is nothing to revoke.
 */
export function revokeKyc(deps: ChangeDeps, ref: PlayerRef, { reason }: RevokeKycBody): Promise<KycResource> {
  return change(deps, ref, ({ state: { status } }) => {
    if (status === 'none' || status === 'rejected' || status === 'revoked')
      throw invalidStatus(`the KYC status is ${status}: there is nothing to revoke`);
    const kind = status === 'pending' ? 'rejected' : 'revoked';
    return {
      decision: { kind, level: null, expires_at_ms: null, reason, event: EVENT_OF_REVOKING[kind] },
      callOf: ({ after }) => ({ action: 'update', status: after.status, level: after.level, reason }),
    };
  });
}

/** The catalogue has no event for a revocation. */
const EVENT_OF_REVOKING = { rejected: 'kyc_rejected', revoked: 'custom_kyc_revoked' } as const;

async function change(
  deps: ChangeDeps,
  ref: PlayerRef,
  plan: (locked: LockedKyc) => Plan,
): Promise<KycResource> {
  const { postgres, caller } = deps;
  const is_informed = await caller.wantsToKnow(ref);
  const { row, one, call_id } = await withSurvivor(postgres, ref, (player) =>
    retryConflicts(() =>
      postgres.asTenant(player.tenant_id, (tx) => changeOnce(deps, tx, player, { plan, is_informed })),
    ),
  );
  if (call_id === undefined) return kycResourceOf(row, 'done');
  const is_done = await caller.tryNow({ ...one, call_id });
  if (!is_done) return kycResourceOf(row, 'queued');
  // The platform may have said what it calls the verification.
  const [stored] = await postgres.readAsTenant(one.tenant_id, (tx) => selectKyc(tx, one));
  return kycResourceOf({ ...row, provider_ref: stored?.provider_ref ?? row.provider_ref }, 'done');
}

async function changeOnce(
  { clock, audit, user_id }: ChangeDeps,
  tx: Tx,
  one: PlayerRef,
  { plan, is_informed }: { plan: (locked: LockedKyc) => Plan; is_informed: boolean },
): Promise<{ row: KycRow; one: PlayerRef; call_id: string | undefined } | undefined> {
  const [{ kyc_model: chosen } = { kyc_model: null }] = await selectChosenKycModel(tx, one.tenant_id);
  if (!mayOperatorDecide(chosen)) {
    const message = `the tenant's kyc_model is ${chosen}: KYC is not decided here`;
    throw new ApiError('FORBIDDEN', message);
  }
  const now_ms = clock.now_ms();
  let made: Plan | undefined;
  const [before] = await selectKyc(tx, one);
  const applied = await applyDecision(tx, one, now_ms, (locked) => {
    if (locked.player.deleted_at !== null) throw playerNotFound(one.player_id);
    made = plan(locked);
    // An operator has seen what was said before, so the decision comes after it even if another clock is ahead.
    const at_ms = Math.max(now_ms, locked.latest_ms + 1);
    const common = { decision_id: newId(), source: 'api', decided_by: user_id } as const;
    return { ...made.decision, ...common, at_ms, received_at_ms: Math.max(now_ms, at_ms) };
  });
  if (applied === undefined || made === undefined) return undefined;
  const external_id = applied.player.external_id ?? one.player_id;
  const call = made.callOf(applied);
  const call_id =
    is_informed && chosen !== null ? await queueCall(tx, one, external_id, call, now_ms) : undefined;
  const [row] = await selectKyc(tx, one);
  if (row === undefined) return undefined;
  await audit(tx, {
    tenant_id: one.tenant_id,
    project_id: one.project_id,
    resource_id: one.player_id,
    before: before === undefined ? null : auditedOf(before),
    after: { ...auditedOf(row), reason: made.decision.reason ?? null },
  });
  return { row, one, call_id };
}

function auditedOf({ kyc_status, kyc_level, requested_level, expires_at, decided_at }: KycRow): object {
  return { kyc_status, kyc_level, requested_level, expires_at, decided_at };
}

/** The KYC of a player as the API answers it. */
export function kycResourceOf(row: KycRow, sync: KycResource['sync']): KycResource {
  const { expires_at, decided_at, ...same } = row;
  return {
    ...same,
    expires_at: expires_at?.toISOString() ?? null,
    decided_at: decided_at?.toISOString() ?? null,
    sync,
  };
}

function invalidStatus(message: string): ApiError {
  return new ApiError('KYC_INVALID_STATUS', message);
}
