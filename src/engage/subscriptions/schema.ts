import { z } from 'zod';
import { int64, nameSchemas, timestampWithOffset, trimmedText } from '../../http/field-schemas.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { DELIVERY_STATUSES } from '../webhooks/read-queries.ts';
import { SUBSCRIBED_EVENTS } from './events.ts';
import { SUBSCRIPTION_STATUSES } from './queries.ts';

const MAX_URL = 2_000;
const MAX_SEGMENTS = 50;

const subscribedEvent = z.enum(SUBSCRIBED_EVENTS);
const distinct = (values: readonly string[]) => new Set(values).size === values.length;
const fields = {
  name: trimmedText(1, 200),
  url: trimmedText(1, MAX_URL).meta({ description: 'Begins with https://; private addresses are refused' }),
  events: z
    .array(subscribedEvent)
    .min(1)
    .max(SUBSCRIBED_EVENTS.length)
    .refine(distinct, { error: 'must name each event once' }),
  segment_ids: z
    .array(z.uuid().toLowerCase())
    .min(1)
    .max(MAX_SEGMENTS)
    .refine(distinct, { error: 'must name each segment once' })
    .nullable()
    .meta({ description: 'Narrows segment.entered and segment.left to these segments; null: all' }),
};

/** `POST /v1/event-subscriptions`. */
export const createSubscriptionBody = z.strictObject({
  ...fields,
  segment_ids: fields.segment_ids.default(null),
});
export type CreateSubscriptionBody = z.infer<typeof createSubscriptionBody>;

/** `PATCH /v1/event-subscriptions/:id`. */
export const patchSubscriptionBody = z.strictObject({
  name: fields.name.optional(),
  url: fields.url.optional(),
  events: fields.events.optional(),
  segment_ids: fields.segment_ids.optional(),
});
export type PatchSubscriptionBody = z.infer<typeof patchSubscriptionBody>;

/** `POST /v1/event-subscriptions/:id/replay`. */
export const replayBody = z.strictObject({
  from: timestampWithOffset,
});

/** Fields that only the service sets; the status is changed by `pause` and `enable`. */
export const COMPUTED_FIELDS = new Set([
  'id',
  'tenant_id',
  'project_id',
  'status',
  'secret',
  'delivery',
  'replay',
  'created_at',
  'updated_at',
  'deleted_at',
]);

const timestamp = z.iso.datetime();

const deliveryState = z.object({
  state: z.enum(['paused', 'failing', 'delivering', 'idle']).meta({
    description:
      'failing: the event that waits longest was tried without success, or the one that ended last was given up',
  }),
  pending: z.int().meta({ description: 'Events that wait, counted up to 10,000' }),
  oldest_pending_at: timestamp.nullable(),
  failed: z
    .int()
    .meta({ description: 'Events that were given up and can be replayed, counted up to 10,000' }),
  dropped: int64.meta({
    format: 'int64',
    description: 'Events that were removed unsent because a million waited',
  }),
  last_dropped_at: timestamp.nullable(),
  last_delivered_at: timestamp.nullable(),
  last_error: z
    .object({ code: z.string(), status: z.int().nullable(), at: timestamp.nullable() })
    .nullable()
    .meta({ description: 'Of the event that waits longest, else of the newest that was given up' }),
});

const replayState = z.object({
  from: timestamp,
  replayed: int64.meta({ format: 'int64', description: 'Events that were queued again so far' }),
  ended_at: timestamp.nullable(),
});

const shown = {
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  name: z.string(),
  url: z.string(),
  events: z.array(subscribedEvent),
  segment_ids: z.array(z.uuid()).nullable(),
  status: z.enum(SUBSCRIPTION_STATUSES),
  delivery: deliveryState,
  replay: replayState.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.nullable(),
};
export const subscriptionResource = z.object(shown);
export const subscriptionWithSecret = z.object({ ...shown, secret: z.string() });

export const eventDeliveryResource = z.object({
  event_id: z.uuid(),
  sequence: int64,
  event: z.string(),
  player_id: z.uuid().nullable(),
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
nameSchemas({
  SubscribedEvent: subscribedEvent,
  CreateEventSubscriptionBody: createSubscriptionBody,
  PatchEventSubscriptionBody: patchSubscriptionBody,
  ReplayEventsBody: replayBody,
  EventSubscription: subscriptionResource,
  EventSubscriptionWithSecret: subscriptionWithSecret,
  EventDelivery: eventDeliveryResource,
  EventDeliveryState: deliveryState,
});

export const deliveriesQuery = z.strictObject({
  ...PAGE_QUERY,
  status: z.enum(DELIVERY_STATUSES).optional(),
});
