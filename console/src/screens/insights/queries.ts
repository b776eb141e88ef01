import type { DataOf } from '../../api/client.ts';
import { useList, useRead, useWholeList, type RowOf } from '../../api/queries.ts';
import type { Answer, InsightQuery } from './query.ts';

const REFRESH_MS = 60_000;
/** The service computes the next answer while it gives the one of before. */
const STALE_REFRESH_MS = 1_500;
/** Days that are being written anew are soon right. */
const RESTATING_REFRESH_MS = 10_000;

function refreshOf(answer: Answer | undefined): number {
  if (answer?.is_stale === true) return STALE_REFRESH_MS;
  return (answer?.restating_days ?? 0) > 0 ? RESTATING_REFRESH_MS : REFRESH_MS;
}

/** The figures of a query; until those of a changed one are there, those of before. */
export function useInsight(query: InsightQuery) {
  return useRead('insights.query', [query], { refresh_ms: refreshOf, keep_previous: true });
}

/** What the metrics are called and mean. */
export function useMetrics() {
  return useRead('insights.metrics', []);
}

/** Segments to choose from. */
export function useSegmentChoice() {
  return useWholeList('segments.list', []);
}

/** The events of the catalogue, with the properties that each has. */
export function useEvents() {
  return useRead('segments.fields', []).data?.data.events ?? [];
}

/** The insights that were saved. */
export function useSavedInsights() {
  return useWholeList('insights.list', []);
}

export type SavedInsight = RowOf<'insights.list'>;

export function useDashboards() {
  return useWholeList('dashboards.list', []);
}

export type DashboardRecord = RowOf<'dashboards.list'>;

export function useDashboard(id: string) {
  return useRead('dashboards.get', [id]);
}

export type FigurePlayer = RowOf<'insights.players'>;
export type Protection = NonNullable<DataOf<'insights.players'>['protection']>;
export type SavedSegment = DataOf<'insights.segment'>;

/** The players behind a figure of a query. */
export function useFigurePlayers(query: InsightQuery, cell: object) {
  return useList('insights.players', [{ query, cell: { ...cell } }]);
}
