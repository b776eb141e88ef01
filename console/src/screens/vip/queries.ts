import { useQuery } from '@tanstack/react-query';
import { ask } from '../../api/client.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead, useWholeList } from '../../api/queries.ts';

export type { MovedPlayer as Moved, Tier } from '@player-engagement/client/admin';

export function useTiers() {
  return useWholeList('vipTiers.list', []);
}

export function useTier(id: string, enabled: boolean) {
  return useRead('vipTiers.get', [id], { enabled });
}

const COUNTED_FOR_MS = 60_000;

/** How many players of the project have the tier: the size of the segment that asks for it. */
export function useMembers(code: string) {
  const place = usePlace();
  const condition = { type: 'trait', field: 'current_tier_code', op: 'eq', value: code };
  const definition = { operator: 'AND', conditions: [condition] };
  return useQuery({
    queryKey: [place.project_id, 'members of tier', code],
    queryFn: ({ signal }) => ask('segments.preview', [{ definition }], { project: place, signal }),
    staleTime: COUNTED_FOR_MS,
    enabled: code !== '',
  });
}

export function useMoves(from: string | undefined, to: string | undefined) {
  return useList('tierChanges.list', [{ from, to }]);
}
