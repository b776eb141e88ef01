import { usePlace } from '../../api/place.tsx';
import { useList } from '../../api/queries.ts';

/** `GET /v1/projects/:projectId/api-keys`. */
export interface ApiKeyRecord {
  id: string;
  name: string;
  prefix: string;
  ingest_rate: { per_minute: number; burst: number } | null;
  created_at: string;
  deleted_at: string | null;
}

/** The only answer with the secret. */
export interface CreatedKey {
  id: string;
  name: string;
  prefix: string;
  key: string;
}

export const KEY_STATUSES = ['active', 'revoked'] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

/** The path of the project's API keys. */
export function useKeysPath(): string {
  return `/v1/projects/${usePlace().project_id}/api-keys`;
}

export function useApiKeys(status: KeyStatus) {
  return useList<ApiKeyRecord>(useKeysPath(), { status });
}

/** `GET /v1/webhook-deliveries`. */
export interface Delivery {
  event_id: string;
  journey_id: string;
  run_id: string;
  node_id: string;
  player_id: string;
  url: string;
  status: DeliveryStatus;
  attempts: number;
  next_attempt_at: string | null;
  last_attempt_at: string | null;
  response_status: number | null;
  response: string | null;
  error_code: string | null;
  reason: string | null;
  created_at: string;
  completed_at: string | null;
}

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'cancelled'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

const REFRESH_MS = 10_000;

export function useDeliveries(status: DeliveryStatus | undefined) {
  return useList<Delivery>('/v1/webhook-deliveries', { status }, { refresh_ms: REFRESH_MS });
}
