import type { Int } from '../../api/json.ts';
import { useRead } from '../../api/queries.ts';

/** Figures of a time range, amounts in the base currency. */
export interface RangeFigures {
  from: string;
  to: string;
  deposits: Int;
  withdrawals: Int;
  ggr: Int;
  first_time_depositors: Int;
  active_players: Int;
  events: Int;
}

/** `GET /v1/overview`. */
export interface OverviewData {
  at: string;
  now: RangeFigures;
  week_before: RangeFigures;
  messages: {
    by_status: Readonly<Record<string, Int>>;
    skipped: Readonly<Record<string, Int>>;
    failed: Readonly<Record<string, Int>>;
    blocked_for_protection: Int;
  };
  campaigns: { scheduled: Int; sending: Int };
  journeys: { active: Int; paused: Int; runs_running: Int };
  grants: { open: Int; liability: Int };
  responsible_gaming: { self_excluded: Int; cooling_off: Int; banned: Int };
  pipeline: {
    consumers: readonly { name: string; events_behind: Int | null }[];
    dead_letters: { found: Int; is_all: boolean; newest_at: string | null } | null;
  };
}

const REFRESH_MS = 10_000;

export function useOverview(from: string, to: string | undefined) {
  return useRead<OverviewData>('/v1/overview', { from, to }, { refresh_ms: REFRESH_MS, keep_previous: true });
}

/** `GET /v1/series`: one value per interval. */
export interface Series {
  currency: string | null;
  points: readonly { at: string; value: Int }[];
}

export function useSeries(metric: 'deposits' | 'ggr', interval: 'hour' | 'day', from: string) {
  return useRead<Series>(
    '/v1/series',
    { metric, interval, from },
    { refresh_ms: REFRESH_MS, keep_previous: true },
  );
}
