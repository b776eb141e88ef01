import type { InboundDeps } from '../../adapters/inbound.ts';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import type { AuditChange } from '../../http/audit.ts';
import { playerRefOf } from '../player-ref.ts';
import { withSurvivor } from '../profile/read.ts';
import { selectCalls } from './call-queries.ts';
import { KycCaller, type CallerDeps } from './calls.ts';
import { approveKyc, kycResourceOf, requestKyc, revokeKyc, type ChangeDeps } from './change.ts';
import { selectHistory, selectKyc } from './queries.ts';
import { approveKycBody, kycResource, kycWithHistory, requestKycBody, revokeKycBody } from './schema.ts';
import { kycWebhook } from './webhook.ts';

/** Statements that the history shows. */
const MAX_HISTORY = 100;

/** KYC of players (spec part 4, bonuses part 8), and the webhook by which platforms decide it. */
export function kycEndpoints(deps: CallerDeps & InboundDeps): AnyEndpoint[] {
  const caller = new KycCaller(deps);
  const write = {
    method: 'POST',
    access: { mode: 'session', role: 'editor', scope: 'project' },
    response: kycResource,
    // It may wait for the platform.
    load: 'elsewhere',
  } as const;
  const of = ({ user_id }: ProjectSession, audit: AuditChange): ChangeDeps => ({
    ...deps,
    caller,
    audit,
    user_id,
  });
  return [
    readEndpoint(deps),
    endpoint({
      ...write,
      path: '/v1/players/:id/kyc/request',
      summary: 'Requests the documents of a player: opens a case, and informs the platform',
      status: 202,
      body: requestKycBody,
      audit: { resource: 'player_kyc', action: 'request' },
      errors: ['PLAYER_NOT_FOUND'],
      handle: async ({ caller: session, params, body, audit }) =>
        envelope(await requestKyc(of(session, audit), playerRefOf(session, params), body)),
    }),
    endpoint({
      ...write,
      path: '/v1/players/:id/kyc/approve',
      summary: 'Approves a level, and informs the platform',
      body: approveKycBody,
      audit: { resource: 'player_kyc', action: 'approve' },
      errors: ['PLAYER_NOT_FOUND', 'KYC_INVALID_STATUS'],
      handle: async ({ caller: session, params, body, audit }) =>
        envelope(await approveKyc(of(session, audit), playerRefOf(session, params), body)),
    }),
    endpoint({
      ...write,
      path: '/v1/players/:id/kyc/revoke',
      summary: 'Revokes an approval or refuses a pending case, and informs the platform',
      body: revokeKycBody,
      audit: { resource: 'player_kyc', action: 'revoke' },
      errors: ['PLAYER_NOT_FOUND', 'KYC_INVALID_STATUS'],
      handle: async ({ caller: session, params, body, audit }) =>
        envelope(await revokeKyc(of(session, audit), playerRefOf(session, params), body)),
    }),
    kycWebhook(deps),
  ];
}

function readEndpoint({ postgres }: Pick<CallerDeps, 'postgres'>): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: '/v1/players/:id/kyc',
    summary: 'The KYC of a player: all decisions, and what the platform does not know yet',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    response: kycWithHistory,
    errors: ['PLAYER_NOT_FOUND'],
    handle: async ({ caller, params }) =>
      envelope(
        await withSurvivor(postgres, playerRefOf(caller, params), (one) =>
          postgres.asTenant(one.tenant_id, async (tx) => {
            const [[row], calls, history] = await Promise.all([
              selectKyc(tx, one),
              selectCalls(tx, one),
              selectHistory(tx, one, MAX_HISTORY),
            ]);
            const is_queued = calls.some(({ next_attempt_at }) => next_attempt_at !== null);
            return row && { ...kycResourceOf(row, is_queued ? 'queued' : 'done'), calls, history };
          }),
        ),
      ),
  });
}
