import { useQuery } from '@tanstack/react-query';
import { call, type Answer } from '../../api/call.ts';
import type { Amount } from '../../api/currencies.ts';
import type { ApiError } from '../../api/errors.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';

export const TYPES = ['deposit_match', 'reload', 'free_spins', 'no_deposit', 'cashback', 'free_bet'] as const;
export type BonusType = (typeof TYPES)[number];

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

/** A bonus campaign (spec part 2). */
export interface BonusCampaign {
  id: string;
  name: string;
  template_id: string;
  segment_id: string;
  deposit_amount: Amount | null;
  deposit_from: string | null;
  currency_override: string | null;
  schedule_at: string | null;
  max_liability: Amount | null;
  max_grants: number | null;
  rate_per_second: number | null;
  qualifying_product: string | null;
  advertising: string;
  status: string;
  stats: Readonly<Record<'pending' | 'granted' | 'skipped' | 'failed', number>>;
  skips: Readonly<Record<string, number>>;
  cost: Readonly<Record<'granted_base' | 'released_base' | 'ended_unreleased_base' | 'open_base', Amount>>;
  last_error: string | null;
  updated_at: string;
  issued_at: string | null;
  finished_at: string | null;
}

/** Campaigns are issued in the background. */
const CAMPAIGN_REFRESH_MS = 3_000;

export function useBonusCampaigns(status: string | undefined) {
  return useList<BonusCampaign>('/v1/bonus-campaigns', { status });
}

export function useBonusCampaign(id: string, enabled: boolean) {
  return useRead<BonusCampaign>(
    `/v1/bonus-campaigns/${encodeURIComponent(id)}`,
    {},
    { enabled, refresh_ms: CAMPAIGN_REFRESH_MS },
  );
}

/** What issuing a campaign would do now. */
export interface DryRun {
  members: number;
  would_grant: number;
  skips: Readonly<Record<string, number>>;
  cost_base: Amount;
}

/** Asks what issuing would do; nothing is written. It is asked anew when the campaign was changed. */
export function useDryRun({ id, updated_at }: BonusCampaign) {
  const place = usePlace();
  return useQuery<Answer<DryRun>, ApiError>({
    queryKey: [place.project_id, 'bonus dry run', id, updated_at],
    queryFn: ({ signal }) =>
      call<DryRun>({
        method: 'POST',
        path: `/v1/bonus-campaigns/${id}/issue`,
        query: { dry_run: true },
        project: place,
        signal,
      }),
    staleTime: Infinity,
    gcTime: 0,
  });
}
