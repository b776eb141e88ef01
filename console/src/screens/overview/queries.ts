import { useRead } from '../../api/queries.ts';

export type { Overview as OverviewData } from '@player-engagement/client';

const REFRESH_MS = 10_000;
/** The service computes the next answer while it gives the one of before. */
const STALE_REFRESH_MS = 1_500;

const refreshOf = (data: { is_stale: boolean } | undefined) =>
  data?.is_stale === true ? STALE_REFRESH_MS : REFRESH_MS;

export function useOverview(from: string, to: string | undefined) {
  return useRead('overview', [{ from, to }], { refresh_ms: refreshOf, keep_previous: true });
}

export function useSeries(metric: 'deposits' | 'ggr', interval: 'hour' | 'day', from: string) {
  return useRead('series', [{ metric, interval, from }], { refresh_ms: refreshOf, keep_previous: true });
}
