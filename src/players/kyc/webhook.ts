import { idOfPublished, adapterWebhook, type InboundDeps } from '../../adapters/inbound.ts';
import type { Inbound } from '../../adapters/apply-inbound.ts';
import { ApiError } from '../../errors.ts';
import type { AnyEndpoint } from '../../http/endpoint.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import { readTenantConfig } from '../../tenants/config/read.ts';
import { playerNotFound } from '../profile/read.ts';
import { applyDecision } from './apply.ts';
import { orderedAt, type KycKind, mayPlatformDecide } from '../../protection/kyc/decide.ts';
import { selectNamed } from './queries.ts';
import { kycEvent, kycEventAnswer, MAX_REASON, type KycEvent } from './schema.ts';

/** What a webhook says, and the event that the log has for it. */
const KINDS: Record<KycEvent['event'], { kind: KycKind; event: string }> = {
  'kyc.submitted': { kind: 'submitted', event: 'kyc_submitted' },
  'kyc.approved': { kind: 'approved', event: 'kyc_approved' },
  'kyc.rejected': { kind: 'rejected', event: 'kyc_rejected' },
  'kyc.expired': { kind: 'expired', event: 'kyc_expired' },
  'kyc.level_upgraded': { kind: 'level_upgraded', event: 'kyc_level_upgraded' },
};

/** `POST /v1/adapters/:slug/webhooks/kyc-events` (spec part 4, bonuses part 8). */
export function kycWebhook(deps: InboundDeps): AnyEndpoint {
  return adapterWebhook(deps, {
    name: 'kyc-events',
    summary:
      "KYC decisions of a casino platform; 403 when the tenant's kyc_model does not allow it any decision",
    schema: kycEvent,
    response: kycEventAnswer,
    errors: ['FORBIDDEN', 'PLAYER_NOT_FOUND'],
    apply: (tx, call) => applyKycEvent(tx, call),
  });
}

async function applyKycEvent(
  tx: Tx,
  { adapter, tenant_id, project_id, event, received_at }: Inbound<KycEvent>,
) {
  const { kyc_model } = await readTenantConfig(tx, tenant_id);
  if (!mayPlatformDecide(kyc_model)) {
    const message = `the tenant's kyc_model is ${kyc_model}: platforms do not decide about KYC`;
    throw new ApiError('FORBIDDEN', message);
  }
  const name = event.player_external_id;
  const [player] = await selectNamed(tx, { tenant_id, project_id }, name, isUuid(name) ? name : null);
  if (player === undefined) throw playerNotFound(name);
  const { kind, event: logged } = KINDS[event.event];
  const reason = event.data?.reason ?? null;
  const received_at_ms = received_at.getTime();
  const ref = { tenant_id, project_id, player_id: player.player_id };
  const applied = await applyDecision(tx, ref, received_at_ms, ({ player: { deleted_at } }) => {
    if (deleted_at !== null) throw playerNotFound(name);
    return {
      decision_id: idOfPublished(adapter.slug, event.event_id),
      source: 'webhook',
      kind,
      at_ms: orderedAt(event.ts, received_at_ms),
      received_at_ms,
      level: event.level ?? null,
      expires_at_ms: endOf(event),
      decided_by: null,
      adapter_slug: adapter.slug,
      reason: reason === null ? null : reason.slice(0, MAX_REASON),
      event: logged,
    };
  });
  // It was merged since it was looked up: its survivor is found when the transaction is repeated.
  if (applied === undefined) throw new WriteConflict(`player ${player.player_id} was merged`);
  return { received: true as const, applied: applied.applied, new_status: applied.after.status };
}

function endOf(event: KycEvent): number | null {
  const says_end = event.event === 'kyc.approved' || event.event === 'kyc.level_upgraded';
  return says_end ? (event.data?.expires_at ?? null) : null;
}
