import { useRead } from '../../api/queries.ts';

export type { Overview as OverviewData } from '@player-engagement/client';

const REFRESH_MS = 10_000;

export function useOverview(from: string, to: string | undefined) {
  return useRead('overview', [{ from, to }], { refresh_ms: REFRESH_MS, keep_previous: true });
}

export function useSeries(metric: 'deposits' | 'ggr', interval: 'hour' | 'day', from: string) {
  return useRead('series', [{ metric, interval, from }], { refresh_ms: REFRESH_MS, keep_previous: true });
}
