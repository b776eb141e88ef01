import {
  ApiError,
  type BonusCampaign,
  type BonusTemplate,
  type Grant,
  type GrantWithHistory,
} from '@player-engagement/client/admin';
import { useQuery } from '@tanstack/react-query';
import { everyOf } from '../../api/choices.ts';
import { ask } from '../../api/client.ts';
import type { Amount } from '../../api/currencies.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead, type FiltersIn, useWholeList } from '../../api/queries.ts';

export type { BonusCampaign, BonusTemplate, Grant } from '@player-engagement/client/admin';

export type GrantEvent = GrantWithHistory['history'][number];

export type BonusType = BonusTemplate['type'];
export const TYPES = everyOf<BonusType>()([
  'deposit_match',
  'reload',
  'free_spins',
  'no_deposit',
  'cashback',
  'free_bet',
]);

export const TEMPLATE_STATUSES = everyOf<BonusTemplate['status']>()(['active', 'paused']);

export function useBonusTemplates(filters: FiltersIn<'bonusTemplates.list'>) {
  return useList('bonusTemplates.list', [filters]);
}

export function useBonusTemplate(id: string, enabled: boolean) {
  return useRead('bonusTemplates.get', [id], { enabled });
}

/** Templates to choose from. */
export function useTemplateChoice() {
  return useWholeList('bonusTemplates.list', []);
}

/** Segments to choose from. */
export function useSegmentChoice() {
  return useWholeList('segments.list', []);
}

/** The code of the currency of a template: every type has one. */
export function configCurrency({ config }: Pick<BonusTemplate, 'config'>): string {
  return String(config['currency']);
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

/** Whether a grant may still change, and be cancelled. */
export function isLive({ status }: Pick<Grant, 'status'>): boolean {
  return status === 'pending' || status === 'active';
}

export const GRANT_STATUSES = everyOf<Grant['status']>()([
  'pending',
  'active',
  'completed',
  'forfeited',
  'expired',
  'lost',
  'cancelled',
  'failed',
]);

export function useGrants(filters: FiltersIn<'bonusGrants.list'>) {
  return useList('bonusGrants.list', [filters]);
}

/** Platforms and bets move grants at any time. */
const GRANT_REFRESH_MS = 5_000;

export function useGrant(id: string) {
  return useRead('bonusGrants.get', [id], { refresh_ms: GRANT_REFRESH_MS });
}

/** Campaigns are issued in the background. */
const CAMPAIGN_REFRESH_MS = 3_000;

export const CAMPAIGN_STATUSES = everyOf<BonusCampaign['status']>()([
  'draft',
  'scheduled',
  'issuing',
  'issued',
  'paused',
  'cancelled',
]);

export function useBonusCampaigns(filters: FiltersIn<'bonusCampaigns.list'>) {
  return useList('bonusCampaigns.list', [filters]);
}

export function useBonusCampaign(id: string, enabled: boolean) {
  return useRead('bonusCampaigns.get', [id], { enabled, refresh_ms: CAMPAIGN_REFRESH_MS });
}

/** Asks what issuing would do; nothing is written. It is asked anew when the campaign was changed. */
export function useDryRun({ id, updated_at }: BonusCampaign) {
  const place = usePlace();
  return useQuery({
    queryKey: [place.project_id, 'bonus dry run', id, updated_at],
    queryFn: async ({ signal }) => {
      const options = { project: place, signal };
      const { data, ...about } = await ask('bonusCampaigns.issue', [id, { dry_run: 'true' }], options);
      if (!('would_grant' in data)) {
        throw new ApiError('ANSWER_UNREADABLE', 'the answer is not that of a dry run', { status: 200 });
      }
      return { ...about, data };
    },
    staleTime: Infinity,
    gcTime: 0,
  });
}
