import type { ProjectWebhookDelivery } from '@player-engagement/client';
import { usePlace } from '../../api/place.tsx';
import { useList } from '../../api/queries.ts';

export type { ApiKey as ApiKeyRecord, ProjectWebhookDelivery as Delivery } from '@player-engagement/client';

export const KEY_STATUSES = ['active', 'revoked'] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

export function useApiKeys(status: KeyStatus) {
  return useList('projects.apiKeys.list', [usePlace().project_id, { status }]);
}

export type DeliveryStatus = ProjectWebhookDelivery['status'];
export const DELIVERY_STATUSES = [
  'pending',
  'delivered',
  'failed',
  'cancelled',
] as const satisfies readonly DeliveryStatus[];

const REFRESH_MS = 10_000;

export function useDeliveries(status: DeliveryStatus | undefined) {
  return useList('webhookDeliveries.list', [{ status }], { refresh_ms: REFRESH_MS });
}
