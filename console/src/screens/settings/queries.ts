import { useList, useRead } from '../../api/queries.ts';
import type { Role } from '../../api/session.ts';
import type { Currency } from '../../format/money.ts';

export const CHANNELS = ['email', 'sms', 'push'] as const;
export type Channel = (typeof CHANNELS)[number];

interface Labelled {
  value: string;
  label: string;
}

/** What a licence suggests. */
export interface LicenceDefaults {
  suggested_verticals: readonly string[];
  rg_features: readonly string[];
  kyc_model: string;
  hint: string;
}

/** The settings of a tenant, as far as people change them here. */
export interface Settings {
  license_jurisdiction: string | null;
  verticals: readonly string[];
  kyc_model: string;
  config: {
    rg_features?: readonly string[];
    messaging?: {
      quiet_hours?: { start: string; end: string; default_timezone: string };
      frequency_caps?: Partial<Record<Channel, { per_day?: number; per_week?: number }>>;
      consent_required?: boolean;
    };
    bonuses?: { paused?: boolean; on_exclusion?: string; grants_per_day?: number };
    license_rules?: Readonly<Record<string, RuleOverride>>;
  };
}

/** What the operator changes of a rule; `params` are the numbers that differ. */
export interface RuleOverride {
  severity?: string;
  reason?: string;
  params?: Readonly<Record<string, number>>;
}

/** A rule of a licence, or one for all. */
export interface LicenceRule {
  id: string;
  jurisdiction: string;
  licenses: readonly string[];
  params: Readonly<Record<string, unknown>>;
  severity: 'enforce' | 'warn' | 'info';
  summary: string;
}

/** `GET /v1/tenant/config`. */
export interface TenantConfig extends Settings {
  base_currency: string;
  catalogue: {
    licenses: readonly Labelled[];
    verticals: readonly Labelled[];
    kyc_models: readonly Labelled[];
    rg_features: readonly string[];
    license_defaults: Readonly<Record<string, LicenceDefaults>>;
    license_rules: readonly LicenceRule[];
  };
}

export function useConfig() {
  return useRead<TenantConfig>('/v1/tenant/config');
}

/** `GET /v1/currencies`. */
export interface CurrencyRecord extends Currency {
  kind: 'fiat' | 'crypto';
  display_name: string;
  is_active: boolean;
  is_base: boolean;
}

export function useCatalogue() {
  return useRead<CurrencyRecord[]>('/v1/currencies');
}

/** `GET /v1/currencies/rates`; the rate is exact decimal digits. */
export interface RateRecord {
  base: string;
  quote: string;
  rate: string;
  ts: string;
  source: string;
}

export function useRates({ base, quote }: { base: string; quote: string }) {
  return useList<RateRecord>('/v1/currencies/rates', { base, quote });
}

/** `GET /v1/messaging-providers`. */
export interface ProviderRecord {
  id: string;
  name: string;
  kind: string;
  channel: Channel;
  status: 'active' | 'paused';
  config: Readonly<Record<string, unknown>>;
  rate_per_second: number | null;
}

export const PROVIDER_KINDS = ['smtp', 'sendgrid', 'twilio', 'fcm', 'sandbox'] as const;

export function useProviders() {
  return useList<ProviderRecord>('/v1/messaging-providers');
}

export function useProvider(id: string) {
  return useRead<ProviderRecord>(`/v1/messaging-providers/${encodeURIComponent(id)}`);
}

/** An active template, to test a provider with. */
export interface TestTemplate {
  id: string;
  name: string;
}

export function useTestTemplates(channel: Channel) {
  return useList<TestTemplate>('/v1/templates', { channel, status: 'active' });
}

/** `GET /v1/suppressions`. */
export interface SuppressionRecord {
  id: string;
  channel: Channel;
  address: string;
  reason: Reason;
  created_at: string;
}

export const REASONS = ['bounce', 'complaint', 'unsubscribe', 'manual'] as const;
export type Reason = (typeof REASONS)[number];

export function useSuppressions(channel: Channel | undefined, reason: Reason | undefined) {
  return useList<SuppressionRecord>('/v1/suppressions', { channel, reason });
}

/** `GET /v1/members`. */
export interface MemberRecord {
  user_id: string;
  role: Role;
  created_at: string;
}

export function useMembers() {
  return useList<MemberRecord>('/v1/members');
}

/** `GET /v1/console-sessions`. */
export interface SessionRecord {
  id: string;
  user_id: string;
  display_name: string | null;
  created_at: string;
  last_seen_at: string;
  expires_at: string;
  is_current: boolean;
}

export function useSessions(of: 'own' | 'members') {
  return useList<SessionRecord>('/v1/console-sessions', { of });
}
