import type {
  Journey,
  JourneyRun,
  JourneyRunWithHistory,
  JourneyStats,
} from '@player-engagement/client/admin';
import { useQuery } from '@tanstack/react-query';
import { everyOf } from '../../api/choices.ts';
import { ask } from '../../api/client.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead, type FiltersIn, useWholeList } from '../../api/queries.ts';

export type {
  Journey as JourneyRecord,
  JourneyRun as RunRecord,
  JourneyStats,
  JourneyVersion as VersionRecord,
  ListedJourney,
  ListedJourneyVersion as ListedVersion,
} from '@player-engagement/client/admin';

/** What became of the runs at one node. */
export type NodeStats = JourneyStats['nodes'][number];
export type StepRecord = JourneyRunWithHistory['history'][number];

export type JourneyStatus = Journey['status'];
export const STATUSES = everyOf<JourneyStatus>()(['draft', 'active', 'paused']);
export type RunStatus = JourneyRun['status'];
export const RUN_STATUSES = everyOf<RunStatus>()(['running', 'completed', 'failed', 'cancelled']);

/** An issue of a definition; `node_id` is the node that it is about. */
export type JourneyIssue = NonNullable<Journey['warnings']>[number];

const REFRESH_MS = 10_000;
const STATS_REFRESH_MS = 15_000;

export function useJourneys(status: JourneyStatus | undefined) {
  return useList('journeys.list', [{ status }], { refresh_ms: REFRESH_MS });
}

export function useJourney(id: string, refresh_ms?: number) {
  return useRead('journeys.get', [id], refresh_ms === undefined ? {} : { refresh_ms });
}

/** The journey as it is when the page is opened, for those who edit it: never an answer that is kept from before. */
export function useJourneyNow(id: string) {
  const place = usePlace();
  return useQuery({
    queryKey: [place.project_id, 'journeys.get', id, 'now'],
    queryFn: ({ signal }) => ask('journeys.get', [id], { project: place, signal }),
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** The API counts the running runs of a version up to so many. */
export const MOST_COUNTED = 1_000;

export function useVersions(id: string, options: { enabled?: boolean; page?: number } = {}) {
  return useList('journeys.versions.list', [id], { refresh_ms: STATS_REFRESH_MS, ...options });
}

export function useVersion(id: string, version: number | undefined) {
  return useRead('journeys.versions.get', [id, String(version ?? '')], { enabled: version !== undefined });
}

export function useStats(id: string) {
  return useRead('journeys.stats', [id, {}], { refresh_ms: STATS_REFRESH_MS });
}

export function useRuns(id: string, filters: FiltersIn<'journeys.runs.list'>) {
  return useList('journeys.runs.list', [id, filters], { refresh_ms: REFRESH_MS });
}

export function useRun(id: string, run_id: string) {
  return useRead('journeys.runs.get', [id, run_id], { refresh_ms: REFRESH_MS });
}

/** What a node can refer to. */
export interface Named {
  id: string;
  name: string;
}

export function useSegments(enabled = true) {
  return useWholeList('segments.list', [], enabled);
}

export function useTemplates(enabled = true) {
  return useWholeList('templates.list', [], enabled);
}

export function useProviders(enabled = true) {
  return useWholeList('messagingProviders.list', [], enabled);
}

export function useBonusTemplates(enabled = true) {
  return useWholeList('bonusTemplates.list', [], enabled);
}

/** Events, and fields of players with their operators. */
export function useVocabulary() {
  return useRead('segments.fields', []).data?.data;
}
