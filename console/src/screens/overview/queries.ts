import { useRead } from '../../api/queries.ts';

export type { Overview as OverviewData } from '@player-engagement/client/admin';

const REFRESH_MS = 10_000;
/** The service computes the next answer while it gives the one of before. */
const STALE_REFRESH_MS = 1_500;

const refreshOf = (data: { is_stale: boolean } | undefined) =>
  data?.is_stale === true ? STALE_REFRESH_MS : REFRESH_MS;

/** The figures of so many days of the reporting time zone, today included. */
export function useOverview(days: number) {
  return useRead('overview', [{ days }], { refresh_ms: refreshOf, keep_previous: true });
}

export function useSeries(metric: 'deposits' | 'ggr', interval: 'hour' | 'day', days: number) {
  return useRead('series', [{ metric, interval, days }], { refresh_ms: refreshOf, keep_previous: true });
}
