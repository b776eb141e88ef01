import type { Amount } from '../../api/currencies.ts';
import { useList, useRead } from '../../api/queries.ts';

export const TYPES = ['deposit_match', 'reload', 'free_spins', 'no_deposit', 'cashback', 'free_bet'] as const;
export type BonusType = (typeof TYPES)[number];
export const TEMPLATE_STATUSES = ['active', 'paused'] as const;

/** A bonus template (spec part 2), as far as the screens show it; its form reads the other fields by their paths. */
export interface BonusTemplate {
  id: string;
  name: string;
  type: BonusType;
  config: Readonly<Record<string, unknown>> & { currency: string };
  status: string;
  version: number;
  licence_warnings: readonly { rule_id: string; message: string }[];
  updated_at: string;
}

export function useBonusTemplates(type: string | undefined, status: string | undefined) {
  return useList<BonusTemplate>('/v1/bonus-templates', { type, status });
}

export function useBonusTemplate(id: string, enabled: boolean) {
  return useRead<BonusTemplate>(`/v1/bonus-templates/${encodeURIComponent(id)}`, {}, { enabled });
}

const LARGEST_PAGE = { page: 200 };

/** Templates to choose from. */
export function useTemplateChoice() {
  return useList<BonusTemplate>('/v1/bonus-templates', {}, LARGEST_PAGE);
}

/** Segments to choose from. */
export function useSegmentChoice() {
  return useList<{ id: string; name: string }>('/v1/segments', {}, LARGEST_PAGE);
}

/** The most that a bonus of the template is worth, in the smallest unit of its currency. */
export function largestBonus({ type, config }: Pick<BonusTemplate, 'type' | 'config'>): bigint {
  const amount = (name: string) => BigInt((config[name] as Amount | undefined) ?? 0);
  if (type === 'free_spins') return amount('count') * amount('value_per_spin');
  return type === 'no_deposit' || type === 'free_bet' ? amount('amount') : amount('cap_amount');
}

/** Whether the amount of the bonus follows from a deposit. */
export function needsDeposit(type: BonusType): boolean {
  return type === 'deposit_match' || type === 'reload';
}

export const GRANT_STATUSES = [
  'pending',
  'active',
  'completed',
  'forfeited',
  'expired',
  'lost',
  'cancelled',
  'failed',
] as const;

/** A grant (spec part 2), as far as the screens show it. */
export interface Grant {
  id: string;
  template_id: string;
  template_version: number;
  player_id: string;
  player_external_id: string;
  campaign_id: string | null;
  granted_by_kind: string;
  granted_by_user: string | null;
  status: string;
  outcome: string;
  adapter_slug: string;
  platform_bonus_id: string | null;
  currency: string;
  deposit_amount: Amount | null;
  bonus_amount: Amount;
  bonus_amount_base: Amount;
  fx: { rate: unknown; ts: string } | null;
  wagering_multiplier: number;
  wagering_basis: string;
  wagering_required: Amount;
  wagering_progress: Amount;
  progress_source: string;
  max_bet: Amount | null;
  max_win_cap: Amount | null;
  max_bet_breaches: number;
  released_amount: Amount | null;
  status_reason: string | null;
  needs_review: boolean;
  last_error: { code: string; message: string; at: string } | null;
  attempts: number;
  next_attempt_at: string | null;
  cancel_requested_at: string | null;
  created_at: string;
  activated_at: string | null;
  expires_at: string | null;
  ended_at: string | null;
}

/** An event in the history of a grant. */
export interface GrantEvent {
  seq: number;
  event: string;
  source: string;
  from_status: string | null;
  to_status: string;
  occurred_at: string;
  data: Readonly<Record<string, unknown>>;
}

/** Whether a grant may still change, and be cancelled. */
export function isLive({ status }: Pick<Grant, 'status'>): boolean {
  return status === 'pending' || status === 'active';
}

export interface GrantFilters {
  player?: string | undefined;
  status?: string | undefined;
  template?: string | undefined;
  campaign?: string | undefined;
  review?: string | undefined;
}

export function useGrants({ player, status, template, campaign, review }: GrantFilters) {
  return useList<Grant>('/v1/bonus-grants', {
    player_id: player,
    status,
    template_id: template,
    campaign_id: campaign,
    needs_review: review === undefined ? undefined : true,
  });
}

/** Platforms and bets move grants at any time. */
const GRANT_REFRESH_MS = 5_000;

export function useGrant(id: string) {
  return useRead<Grant & { history: GrantEvent[] }>(
    `/v1/bonus-grants/${encodeURIComponent(id)}`,
    {},
    { refresh_ms: GRANT_REFRESH_MS },
  );
}
