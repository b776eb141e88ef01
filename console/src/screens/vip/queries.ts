import { useQuery } from '@tanstack/react-query';
import { call, type Answer } from '../../api/call.ts';
import type { Amount } from '../../api/currencies.ts';
import type { ApiError } from '../../api/errors.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';

/** A VIP tier (spec part 2). */
export interface Tier {
  id: string;
  code: string;
  name: string;
  rank: number;
  color: string | null;
  glyph: string | null;
  requirements: Readonly<Record<'lifetime_deposit_subunit' | 'lifetime_wagered_subunit', Amount>> & {
    min_days_active: number;
  };
  demotion: { inactivity_days: number | null; grace_days: number } | null;
  perks: Readonly<Record<string, unknown>>;
  is_active: boolean;
  updated_at: string;
}

/** A tenant has at most 100 tiers, so one page has all of them. */
const ALL = { page: 200 };

export function useTiers() {
  return useList<Tier>('/v1/vip-tiers', {}, ALL);
}

export function useTier(id: string, enabled: boolean) {
  return useRead<Tier>(`/v1/vip-tiers/${encodeURIComponent(id)}`, {}, { enabled });
}

const COUNTED_FOR_MS = 60_000;

/** How many players of the project have the tier: the size of the segment that asks for it. */
export function useMembers(code: string) {
  const place = usePlace();
  return useQuery<Answer<{ estimated_size: number }>, ApiError>({
    queryKey: [place.project_id, 'members of tier', code],
    queryFn: ({ signal }) =>
      call<{ estimated_size: number }>({
        method: 'POST',
        path: '/v1/segments/preview',
        body: {
          definition: {
            operator: 'AND',
            conditions: [{ type: 'trait', field: 'current_tier_code', op: 'eq', value: code }],
          },
        },
        project: place,
        signal,
      }),
    staleTime: COUNTED_FOR_MS,
    enabled: code !== '',
  });
}

/** A change of a player's tier. */
export interface Moved {
  player_id: string;
  player_external_id: string | null;
  from_code: string | null;
  to_code: string | null;
  trigger: string;
  context: Readonly<Record<string, unknown>>;
  occurred_at: string;
}

export function useMoves(from: string | undefined, to: string | undefined) {
  return useList<Moved>('/v1/tier-changes', { from, to });
}
