import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { ApiError } from '../../errors.ts';
import { auditOf, type AuditChange } from '../../http/audit.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf, PAGE_QUERY } from '../../http/keyset-page.ts';
import { notFound, refOf, requireRow, type RecordKind } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { projectRefOf, type ProjectRef } from '../../tenants/project-ref.ts';
import { selectAddressees } from './claim-queries.ts';
import {
  DELIVERY_STATUSES,
  listDeliveries,
  listProjectDeliveries,
  lockDelivery,
  queueAgain,
  selectJourney,
  type DeliveryRef,
  type DeliveryRow,
  type JourneyRef,
} from './read-queries.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

const JOURNEY: RecordKind<'project', 'journey_id'> = {
  scope: 'project',
  noun: 'journey',
  id: 'journey_id',
  not_found: 'JOURNEY_NOT_FOUND',
};
const DELIVERY: RecordKind<'project', 'event_id'> = {
  scope: 'project',
  noun: 'webhook delivery',
  id: 'event_id',
  not_found: 'NOT_FOUND',
};

const timestamp = z.iso.datetime();
const deliveryResource = z.object({
  event_id: z.uuid(),
  run_id: z.uuid(),
  journey_version: z.int(),
  node_id: z.string(),
  player_id: z.uuid(),
  url: z.string(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.int(),
  next_attempt_at: timestamp.nullable(),
  last_attempt_at: timestamp.nullable(),
  response_status: z.int().nullable(),
  response: z.string().nullable(),
  error_code: z.string().nullable(),
  reason: z.string().nullable(),
  created_at: timestamp,
  completed_at: timestamp.nullable(),
});
const projectDelivery = deliveryResource.extend({ journey_id: z.uuid() });
nameSchemas({ WebhookDelivery: deliveryResource, ProjectWebhookDelivery: projectDelivery });

const projectQuery = z.strictObject({ ...PAGE_QUERY, status: z.enum(DELIVERY_STATUSES).optional() });

const listQuery = z.strictObject({
  ...PAGE_QUERY,
  status: z.enum(DELIVERY_STATUSES).optional(),
  run_id: z.uuid().optional(),
});

/** The webhooks that the runs of journeys have called or will call. */
export function webhookDeliveryEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/journeys/:id/deliveries',
      summary: 'The webhooks of a journey and their outcomes, the newest first; kept for 30 days',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: listQuery,
      response: z.array(deliveryResource),
      shape: 'list',
      errors: ['JOURNEY_NOT_FOUND'],
      handle: ({ caller, params, query }) => deliveryPage(deps, refOf(JOURNEY, caller, params['id']), query),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/webhook-deliveries',
      summary: 'The webhooks of all journeys of the project, the newest first; kept for 30 days',
      access: { mode: 'session', role: 'admin', scope: 'project' },
      query: projectQuery,
      response: z.array(projectDelivery),
      shape: 'list',
      handle: ({ caller, query }) => projectPage(deps, projectRefOf(caller), query),
    }),
    endpoint({
      method: 'POST',
      path: '/v1/journeys/:id/deliveries/:eventId/retry',
      summary: 'Sends a failed webhook again, with the same body; its run is not affected',
      audit: { resource: 'webhook_delivery', action: 'retry_failed' },
      access: { mode: 'session', role: 'editor', scope: 'project' },
      response: deliveryResource,
      errors: ['JOURNEY_NOT_FOUND', 'NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, params, audit }) => {
        const journey = refOf(JOURNEY, caller, params['id']);
        const { event_id } = refOf(DELIVERY, caller, params['eventId']);
        return envelope(
          deliveryResourceOf(await retryDelivery({ ...deps, audit }, { ...journey, event_id })),
        );
      },
    }),
  ];
}

function deliveryResourceOf(row: DeliveryRow) {
  return {
    event_id: row.event_id,
    run_id: row.run_id,
    journey_version: row.journey_version,
    node_id: row.node_id,
    player_id: row.player_id,
    url: row.url,
    status: row.status,
    attempts: row.attempts,
    next_attempt_at: row.status === 'pending' ? row.next_at : null,
    last_attempt_at: row.attempted_at,
    response_status: row.last_status,
    response: row.response,
    error_code: row.last_error,
    reason: row.last_reason,
    created_at: row.created_at,
    completed_at: row.completed_at,
  };
}

async function deliveryPage(
  { postgres }: Deps,
  ref: JourneyRef,
  query: z.infer<typeof listQuery>,
): Promise<string> {
  const { tenant_id, journey_id } = ref;
  const [journey] = await postgres.readAsTenant(tenant_id, (tx) => selectJourney(tx, ref));
  if (journey === undefined) throw notFound(JOURNEY, journey_id);
  return listOf(postgres, ref, query, {
    kind: 'webhook-deliveries',
    bound: { journey_id },
    select: (tx, after, limit, filters) => listDeliveries(tx, ref, filters, after, limit),
    positionOf: (row) => [row.created_us, row.event_id],
    show: deliveryResourceOf,
  });
}

function projectPage(
  { postgres }: Deps,
  project: ProjectRef,
  query: z.infer<typeof projectQuery>,
): Promise<string> {
  const statuses = query.status === undefined ? DELIVERY_STATUSES : [query.status];
  return listOf(postgres, project, query, {
    kind: 'project-webhook-deliveries',
    select: (tx, after, limit) => listProjectDeliveries(tx, project, statuses, after, limit),
    positionOf: (row) => [row.created_us, row.event_id],
    show: (row) => ({ ...deliveryResourceOf(row), journey_id: row.journey_id }),
  });
}

const auditDelivery = auditOf(DELIVERY, (row: DeliveryRow, _ref: DeliveryRef) => ({
  status: row.status,
  attempts: row.attempts,
}));

/** What the codes say. */
const BARRED: Readonly<Record<string, string>> = {
  SKIPPED_NO_RECIPIENT: 'the player is deleted (SKIPPED_NO_RECIPIENT)',
  SKIPPED_SELF_EXCLUDED: 'the player is self-excluded (SKIPPED_SELF_EXCLUDED)',
  SKIPPED_BANNED: 'the player is banned (SKIPPED_BANNED)',
};

/**
 * Rejects with JOURNEY_NOT_FOUND, NOT_FOUND, or CONFLICT when the delivery has not failed, or its player is excluded,
 * banned or deleted.
 */
async function retryDelivery(
  { postgres, clock, audit }: Deps & { audit: AuditChange },
  ref: DeliveryRef,
): Promise<DeliveryRow> {
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const [[journey], before] = await Promise.all([selectJourney(tx, ref), lockDelivery(tx, ref)]);
    if (journey === undefined) throw notFound(JOURNEY, ref.journey_id);
    const row = requireRow(DELIVERY, ref, before);
    if (row.status !== 'failed') {
      const message = `the delivery is ${row.status}: only a failed one can be delivered again`;
      throw new ApiError('CONFLICT', message);
    }
    const [addressee] = await selectAddressees(tx, [{ ...ref, player_id: row.player_id }]);
    const code = addressee?.code ?? null;
    if (code !== null) {
      const message = `nothing may be sent about the player of the delivery: ${BARRED[code] ?? code}`;
      throw new ApiError('CONFLICT', message);
    }
    const after = requireRow(DELIVERY, ref, await queueAgain(tx, ref, new Date(clock.now_ms())));
    return auditDelivery(audit, tx, ref, row, after);
  });
}
