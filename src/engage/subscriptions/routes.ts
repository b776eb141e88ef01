import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf, PAGE_QUERY } from '../../http/keyset-page.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import { refOf } from '../../http/record.ts';
import { DELIVERY_STATUSES } from '../webhooks/read-queries.ts';
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
  findSubscription,
  replaySubscription,
  rotateSecret,
  setStatus,
  SUBSCRIPTION,
  testSubscription,
  type ChangeDeps,
  type WithSecret,
} from './change.ts';
import { listEventDeliveries, listSubscriptions } from './queries.ts';
import {
  COMPUTED_FIELDS,
  createSubscriptionBody,
  deliveriesQuery,
  eventDeliveryResource,
  patchSubscriptionBody,
  replayBody,
  subscriptionResource,
  subscriptionWithSecret,
} from './schema.ts';
import { eventDeliveryOf, imageOf, subscriptionResourceOf } from './subscription-json.ts';

const admin = { mode: 'session', role: 'admin', scope: 'project' } as const;
const one = { access: admin, response: subscriptionResource } as const;
const PATH = '/v1/event-subscriptions';
/** The shape of a position in the list of deliveries. */
const SEQUENCE = [(text: string) => /^\d{1,18}$/.test(text)] as const;

/** Subscriptions: what happens to players is sent to systems of the operator. */
export function eventSubscriptionEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return [...readingEndpoints(deps), ...changingEndpoints(deps), ...commandEndpoints(deps)];
}

const withSecret = ({ row, secret }: WithSecret) => envelope({ ...subscriptionResourceOf(row), secret });

function readingEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  const { postgres } = deps;
  return [
    endpoint({
      method: 'GET',
      path: PATH,
      summary: 'Lists the event subscriptions with the state of their deliveries, the newest first',
      access: admin,
      query: z.strictObject(PAGE_QUERY),
      response: z.array(subscriptionResource),
      shape: 'list',
      handle: ({ caller, query }) =>
        listOf(postgres, caller, query, {
          kind: 'event-subscriptions',
          select: (tx, after, limit) => listSubscriptions(tx, caller, after, limit),
          positionOf: (row) => [row.created_us, row.subscription_id],
          show: subscriptionResourceOf,
        }),
    }),
    endpoint({
      ...one,
      method: 'GET',
      path: `${PATH}/:id`,
      summary: 'One event subscription, also a deleted one',
      versioned: true,
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, sendVersion }) => {
        const row = await findSubscription(deps, refOf(SUBSCRIPTION, caller, params['id']));
        sendVersion(imageOf(row));
        return envelope(subscriptionResourceOf(row));
      },
    }),
    endpoint({
      method: 'GET',
      path: `${PATH}/:id/deliveries`,
      summary: 'The events of a subscription and what became of them, the newest first; kept for 7 days',
      access: admin,
      query: deliveriesQuery,
      response: z.array(eventDeliveryResource),
      shape: 'list',
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, query }) => {
        const ref = refOf(SUBSCRIPTION, caller, params['id']);
        await findSubscription(deps, ref);
        const statuses = query.status === undefined ? DELIVERY_STATUSES : [query.status];
        return listOf(postgres, ref, query, {
          kind: 'event-deliveries',
          bound: { subscription_id: ref.subscription_id },
          shape: SEQUENCE,
          select: (tx, after, limit) => listEventDeliveries(tx, ref, statuses, after?.[0], limit),
          positionOf: (row) => [row.sequence],
          show: eventDeliveryOf,
        });
      },
    }),
  ];
}

function changingEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: PATH,
      summary: 'Creates an event subscription; only this response shows its secret',
      access: admin,
      audit: { resource: 'event_subscription', action: 'create' },
      body: createSubscriptionBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      status: 201,
      response: subscriptionWithSecret,
      errors: ['CONFLICT', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller: { tenant_id, project_id }, body, audit }) =>
        withSecret(await createSubscription({ ...deps, audit }, { tenant_id, project_id }, body)),
    }),
    endpoint({
      ...one,
      method: 'PATCH',
      path: `${PATH}/:id`,
      versioned: true,
      summary: 'Changes an event subscription; what waits goes to the new URL, too',
      audit: { resource: 'event_subscription', action: 'update' },
      body: patchSubscriptionBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      errors: ['NOT_FOUND', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body, audit, sendVersion }) => {
        const row = await changeSubscription(
          { ...deps, audit },
          refOf(SUBSCRIPTION, caller, params['id']),
          body,
        );
        sendVersion(imageOf(row));
        return envelope(subscriptionResourceOf(row));
      },
    }),
    endpoint({
      ...one,
      method: 'DELETE',
      path: `${PATH}/:id`,
      summary: 'Soft delete: it is sent nothing from now on, and what waits is removed',
      audit: { resource: 'event_subscription', action: 'delete' },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, audit }) =>
        envelope(
          subscriptionResourceOf(
            await deleteSubscription({ ...deps, audit }, refOf(SUBSCRIPTION, caller, params['id'])),
          ),
        ),
    }),
  ];
}

function commandEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  const statusEndpoint = (command: string, summary: string, status: 'active' | 'paused') =>
    endpoint({
      ...one,
      method: 'POST',
      path: `${PATH}/:id/${command}`,
      summary,
      audit: { resource: 'event_subscription', action: status === 'paused' ? 'pause' : 'activate' },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, audit }) =>
        envelope(
          subscriptionResourceOf(
            await setStatus({ ...deps, audit }, refOf(SUBSCRIPTION, caller, params['id']), status),
          ),
        ),
    });
  return [
    statusEndpoint('pause', 'Sends nothing until it is enabled; what happens meanwhile waits', 'paused'),
    statusEndpoint('enable', 'Sends what has waited, and what happens from now on', 'active'),
    endpoint({
      method: 'POST',
      path: `${PATH}/:id/rotate-secret`,
      summary: 'Creates a new secret, which alone signs from now on; only this response shows it',
      access: admin,
      audit: { resource: 'event_subscription', action: 'rotate_secret' },
      response: subscriptionWithSecret,
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params, audit }) =>
        withSecret(await rotateSecret({ ...deps, audit }, refOf(SUBSCRIPTION, caller, params['id']))),
    }),
    endpoint({
      method: 'POST',
      path: `${PATH}/:id/test`,
      summary: 'Queues the event subscription.test; its delivery shows what the receiver answered',
      access: admin,
      audit: { resource: 'event_subscription', action: 'send_test' },
      status: 202,
      response: z.object({ event_id: z.uuid() }),
      errors: ['NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, params, audit }) => {
        const ref = refOf(SUBSCRIPTION, caller, params['id']);
        const { event_id } = await testSubscription({ ...deps, audit }, ref);
        return envelope({ event_id });
      },
    }),
    endpoint({
      ...one,
      method: 'POST',
      path: `${PATH}/:id/replay`,
      summary: 'Sends again what was queued since a time within the last 7 days, with the same ids and bytes',
      audit: { resource: 'event_subscription', action: 'replay' },
      body: replayBody,
      status: 202,
      errors: ['NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = refOf(SUBSCRIPTION, caller, params['id']);
        const row = await replaySubscription({ ...deps, audit }, ref, new Date(body.from));
        return envelope(subscriptionResourceOf(row));
      },
    }),
  ];
}
