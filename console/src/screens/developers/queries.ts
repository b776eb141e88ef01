import type { Amount } from '../../api/currencies.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';

/** `GET /v1/projects/:projectId/api-keys`. */
export interface ApiKeyRecord {
  id: string;
  name: string;
  prefix: string;
  ingest_rate: { per_minute: number; burst: number } | null;
  created_at: string;
  /** To about a minute; null: not yet. */
  last_used_at: string | null;
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

/** `GET /v1/adapters`. */
export interface Adapter {
  id: string;
  slug: string;
  kind: AdapterKind;
  base_url: string | null;
  auth: { type: 'none' | 'bearer' };
  timeout_ms: number;
  max_rps: number;
  max_in_flight: number;
  capabilities: {
    grant: boolean;
    cancel: boolean;
    status: boolean;
    kyc: boolean;
    completion: 'platform' | 'service';
  };
  is_active: boolean;
  created_at: string;
  updated_at: string;
}

export const ADAPTER_KINDS = ['http', 'sandbox'] as const;
export type AdapterKind = (typeof ADAPTER_KINDS)[number];

/** The only answers with the secret: those that make it. */
export interface AdapterWithSecret extends Adapter {
  secret: string;
}

export function useAdapters() {
  return useList<Adapter>('/v1/adapters');
}

export function useAdapter(id: string) {
  return useRead<Adapter>(`/v1/adapters/${encodeURIComponent(id)}`);
}

/** The id of the sandbox that every project has, in place of that of an adapter. */
export const BUILT_IN = 'sandbox';

/** `GET /v1/adapters/:id/bonuses`; `sent` is the body of the grant. */
export interface SandboxBonus {
  grant_id: string;
  platform_bonus_id: string;
  status: string;
  sent: {
    player_external_id?: string;
    template?: { name?: string; amount_subunit?: Amount; currency?: string };
  };
  created_at: string;
  updated_at: string;
}

/** What a sandbox was given; `id` is that of an adapter, or {@link BUILT_IN}. */
export function useSandboxBonuses(id: string) {
  return useList<SandboxBonus>(`/v1/adapters/${encodeURIComponent(id)}/bonuses`);
}
