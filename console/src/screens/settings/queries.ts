import type { Provider, Suppression, TenantConfig } from '@player-engagement/client/admin';
import { everyOf, type Channel } from '../../api/choices.ts';
import { useList, useRead, useWholeList } from '../../api/queries.ts';

export type {
  ConsoleSession as SessionRecord,
  Currency as CurrencyRecord,
  Member as MemberRecord,
  Provider as ProviderRecord,
  StoredRate as RateRecord,
  Suppression as SuppressionRecord,
  Template as TestTemplate,
  TenantConfig,
} from '@player-engagement/client/admin';

/** What a licence suggests. */
export type LicenceDefaults = NonNullable<TenantConfig['catalogue']['license_defaults'][string]>;

/** The settings of a tenant, as far as people change them here. */
export type Settings = Pick<TenantConfig, 'license_jurisdiction' | 'verticals' | 'kyc_model' | 'config'>;

/** A rule of a licence, or one for all. */
export type LicenceRule = TenantConfig['catalogue']['license_rules'][number];

/** What the operator changes of a rule; `params` are the numbers that differ. */
export interface RuleOverride {
  severity?: LicenceRule['severity'];
  reason?: string;
  params?: Readonly<Record<string, number>>;
}

export function useConfig() {
  return useRead('tenant.config.get', []);
}

export function useRates({ base, quote }: { base: string; quote: string }) {
  return useList('currencies.rates.list', [{ base, quote }]);
}

export const PROVIDER_KINDS = everyOf<Provider['kind']>()(['smtp', 'sendgrid', 'twilio', 'fcm', 'sandbox']);

export function useProviders() {
  return useList('messagingProviders.list', []);
}

export function useProvider(id: string) {
  return useRead('messagingProviders.get', [id]);
}

/** Active templates, to test a provider with. */
export function useTestTemplates(channel: Channel) {
  return useWholeList('templates.list', [{ channel, status: 'active' }]);
}

export type Reason = Suppression['reason'];
export const REASONS = everyOf<Reason>()(['bounce', 'complaint', 'unsubscribe', 'manual']);

export function useSuppressions(channel: Channel | undefined, reason: Reason | undefined) {
  return useList('suppressions.list', [{ channel, reason }]);
}

export function useMembers() {
  return useList('members.list', []);
}

export function useSessions(of: 'own' | 'members') {
  return useList('consoleSessions.list', [{ of }]);
}
