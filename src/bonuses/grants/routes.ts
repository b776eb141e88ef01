import { z } from 'zod';
import { validationError } from '../../errors.ts';
import { endpoint, type AnyEndpoint, type SessionOrInternal } from '../../http/endpoint.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import { listOf, PAGE_QUERY } from '../../http/keyset-page.ts';
import { JsonText } from '../../platform/exact-json.ts';
import { refOf } from '../../http/record.ts';
import { withListedPlayer } from '../../players/profile/read.ts';
import { createAuditWriter } from '../../tenants/audit/write.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { GrantAdmission } from './admission.ts';
import { cancelGrant } from './cancel.ts';
import { Conclusions } from './conclusions.ts';
import { answerTo, grantSaga, type GrantDeps, type Shared } from './create.ts';
import { Intents } from './intents.ts';
import { grantText } from './grant-row.ts';
import { listGrants } from './queries.ts';
import { findGrant, GRANT } from './read.ts';
import {
  cancelGrantBody,
  createGrantBody,
  GRANT_FILTERS,
  grantResource,
  grantWithHistory,
  type CreateGrantBody,
} from './schema.ts';

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;

/** Bonus grants (spec part 4). */
export function bonusGrantEndpoints(deps: GrantDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/bonus-grants',
      summary: 'Lists bonus grants, the newest first',
      access: read,
      query: z.strictObject({ ...PAGE_QUERY, ...GRANT_FILTERS }),
      response: z.array(grantResource),
      shape: 'list',
      handle: async ({ caller, query }) => {
        const project = projectRefOf(caller);
        const filters = await withListedPlayer(deps.postgres, project, query);
        return listOf(deps.postgres, project, query, {
          kind: 'bonus-grants',
          select: (tx, after, limit) => listGrants(tx, project, filters, after, limit),
          positionOf: (row) => [row.created_us, row.grant_id],
          show: (row) => new JsonText(grantText(row)),
        });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/bonus-grants/:id',
      summary: 'One bonus grant with its history',
      access: read,
      response: grantWithHistory,
      errors: ['BONUS_GRANT_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const { grant, history } = await findGrant(deps.postgres, refOf(GRANT, caller, params['id']));
        return envelopeOfText(grantText(grant, history));
      },
    }),
    createEndpoint({ ...deps, ...sharedBy(deps) }),
    endpoint({
      method: 'POST',
      path: '/v1/bonus-grants/:id/cancel',
      load: 'elsewhere',
      audit: { resource: 'bonus_grant', action: 'cancel' },
      summary: 'Asks the platform to cancel the bonus; a bonus that was not sent is cancelled at once',
      access: { mode: 'session', role: 'editor', scope: 'project' },
      body: cancelGrantBody,
      response: grantResource,
      errors: [
        'BONUS_GRANT_NOT_FOUND',
        'BONUS_GRANT_INVALID_STATUS',
        'ADAPTER_REJECTED',
        'ADAPTER_UNAVAILABLE',
      ],
      handle: async ({ caller, params, body, audit }) =>
        envelopeOfText(
          grantText(await cancelGrant({ ...deps, audit }, refOf(GRANT, caller, params['id']), body?.reason)),
        ),
    }),
  ];
}

/** What the requests of a process share. */
function sharedBy(deps: GrantDeps): Shared {
  return {
    admission: new GrantAdmission(deps),
    intents: new Intents({ ...deps, writeAuditRows: createAuditWriter(deps.clock) }),
    conclusions: new Conclusions(deps, answerTo),
  };
}

function createEndpoint(deps: GrantDeps & Shared): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/bonus-grants',
    load: 'elsewhere',
    audit: { resource: 'bonus_grant', action: 'create' },
    summary:
      'Grants a bonus; after 503 it is queued, and `details.grant_id` names it. An Idempotency-Key also stores errors of the platform',
    access: { mode: 'session_or_internal', role: 'editor' },
    body: createGrantBody,
    status: 201,
    response: grantResource,
    idempotent: true,
    errors: [
      'BONUS_TEMPLATE_NOT_FOUND',
      'BONUS_TEMPLATE_NOT_ACTIVE',
      'PLAYER_NOT_FOUND',
      'BONUS_CONFIG_INVALID',
      'BONUS_DEPOSIT_AMOUNT_REQUIRED',
      'BONUS_PLAYER_NOT_ELIGIBLE',
      'BONUS_GRANT_LIMIT_REACHED',
      'BONUS_BUDGET_EXCEEDED',
      'BONUS_PAUSED',
      'ADAPTER_REJECTED',
      'ADAPTER_UNAVAILABLE',
      'SERVICE_UNAVAILABLE',
    ],
    handle: async ({ caller, body, runSaga, replay, audited }) => {
      requireKind(caller, body);
      const project = projectRefOf(caller);
      // Before the platform and the events are asked: neither has a say in an answer that was given already.
      const before = await replay(project.tenant_id);
      if (before !== undefined) return before;
      const request = { ...body, granted_by_user: caller.user_id };
      return runSaga(project.tenant_id, await grantSaga({ ...deps, call: audited() }, project, request));
    },
  });
}

/** Only the service itself says that a journey, a campaign or a rule has granted. */
function requireKind({ user_id }: SessionOrInternal, { granted_by_kind }: CreateGrantBody): void {
  if (user_id === null || granted_by_kind === 'manual' || granted_by_kind === 'api') return;
  const message = `must be manual or api with a session, not ${granted_by_kind}`;
  throw validationError([{ path: 'granted_by_kind', message }]);
}
