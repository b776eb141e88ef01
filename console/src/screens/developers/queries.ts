import type {
  Adapter as AdapterRecord,
  ApiKeyKind,
  EventSubscription,
  ProjectWebhookDelivery,
} from '@player-engagement/client/admin';
import { everyOf } from '../../api/choices.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';

export type {
  Adapter,
  AdapterWithSecret,
  ApiKey as ApiKeyRecord,
  EventDelivery,
  EventSubscription as Subscription,
  ProjectWebhookDelivery as Delivery,
  SandboxBonus,
} from '@player-engagement/client/admin';

export const KEY_STATUSES = ['active', 'revoked'] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

export function useApiKeys(status: KeyStatus) {
  return useList('projects.apiKeys.list', [usePlace().project_id, { status }]);
}

export const KEY_KINDS = everyOf<ApiKeyKind>()(['server', 'client']);

/** The secrets that sign webhooks, the newest first. */
export function useSigningSecrets() {
  return useList('webhookSecrets.list', []);
}

export type DeliveryStatus = ProjectWebhookDelivery['status'];
export const DELIVERY_STATUSES = everyOf<DeliveryStatus>()(['pending', 'delivered', 'failed', 'cancelled']);

const REFRESH_MS = 10_000;

export function useDeliveries(status: DeliveryStatus | undefined) {
  return useList('webhookDeliveries.list', [{ status }], { refresh_ms: REFRESH_MS });
}

/** The subscriptions; those that are sent events change by themselves. */
export function useSubscriptions() {
  return useList('eventSubscriptions.list', [], { refresh_ms: REFRESH_MS });
}

export function useSubscription(id: string) {
  return useRead('eventSubscriptions.get', [id], { refresh_ms: REFRESH_MS });
}

export function useEventDeliveries(id: string, status: DeliveryStatus | undefined) {
  return useList('eventSubscriptions.deliveries', [id, { status }], { refresh_ms: REFRESH_MS });
}

export type SubscribedEvent = EventSubscription['events'][number];
export const SUBSCRIBED_EVENTS = everyOf<SubscribedEvent>()([
  'segment.entered',
  'segment.left',
  'tier.changed',
  'message.sent',
  'message.delivered',
  'message.opened',
  'message.clicked',
  'message.bounced',
  'message.failed',
  'message.capped',
  'grant.pending',
  'grant.active',
  'grant.completed',
  'grant.forfeited',
  'grant.expired',
  'grant.lost',
  'grant.cancelled',
  'grant.failed',
  'exclusion.set',
  'exclusion.ended',
]);

export const ADAPTER_KINDS = everyOf<AdapterRecord['kind']>()(['http', 'sandbox']);
export type AdapterKind = AdapterRecord['kind'];

export function useAdapters() {
  return useList('adapters.list', []);
}

export function useAdapter(id: string) {
  return useRead('adapters.get', [id]);
}

/** The id of the sandbox that every project has, in place of that of an adapter. */
export const BUILT_IN = 'sandbox';

/** What a sandbox was given; `id` is that of an adapter, or {@link BUILT_IN}. */
export function useSandboxBonuses(id: string) {
  return useList('adapters.bonuses', [id]);
}
