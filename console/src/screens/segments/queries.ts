import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call, type Answer } from '../../api/call.ts';
import type { ApiError } from '../../api/errors.ts';
import { parseExactly } from '../../api/json.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';
import type { Vocabulary } from './vocabulary.ts';

export const STRATEGIES = ['realtime', 'scheduled', 'manual'] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** A segment (spec part 2). */
export interface SegmentRecord {
  id: string;
  name: string;
  description: string;
  definition: unknown;
  compiled_query: string;
  estimated_size: number;
  last_computed_at: string | null;
  last_error: string | null;
  refresh_progress: { phase: string; started_at: string; done: number; total: number | null } | null;
  /** How long a scheduled evaluation is overdue; null: none is planned. */
  refresh_lag_seconds: number | null;
  refresh_strategy: Strategy;
  refresh_interval_minutes: number | null;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
}

const REFRESH_MS = 10_000;

/** The path of one segment; its id comes from the address of the page. */
export function segmentPath(id: string): string {
  return `/v1/segments/${encodeURIComponent(id)}`;
}

export function useSegments() {
  return useList<SegmentRecord>('/v1/segments', {}, { refresh_ms: REFRESH_MS });
}

/** One segment; `refresh_ms` for pages that show how it is kept up to date. */
export function useSegment(id: string, refresh_ms?: number) {
  return useRead<SegmentRecord>(segmentPath(id), {}, refresh_ms === undefined ? {} : { refresh_ms });
}

/** What definitions may say; it changes with the version of the service only. */
export function useVocabulary() {
  return useRead<Vocabulary>('/v1/segments/fields');
}

/** The names of the segments that lists have loaded, by their ids. */
export function useSegmentNames(): ReadonlyMap<string, string> {
  const { rows = [] } = useSegments();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** A member of a segment. */
export interface Member {
  player_id: string;
  entered_at: string;
  external_id: string | null;
  status: string;
  current_tier_code: string | null;
  last_seen_at: string;
}

export function useMembers(id: string) {
  return useList<Member>(`${segmentPath(id)}/members`);
}

/** The size at a time; it stays until the next point. */
export interface SizePoint {
  at: string;
  size: number;
}

export function useHistory(id: string) {
  return useRead<readonly SizePoint[]>(`${segmentPath(id)}/history`);
}

/** What uses a segment. */
export interface Reference {
  type: string;
  id: string;
  name: string;
  status: string | null;
}

export function useReferences(id: string) {
  return useRead<readonly Reference[]>(`${segmentPath(id)}/references`);
}

/** Why a player is in a segment or not; one node for each group and condition of the definition. */
export interface Explanation {
  matches: boolean;
  is_member: boolean;
  nodes: readonly { path: string; holds: boolean; node: unknown; value?: unknown }[];
}

export function useExplanation(id: string, player_id: string) {
  return useRead<Explanation>(`${segmentPath(id)}/explain`, { player_id });
}

/** What `POST /v1/segments/:id/refresh` has done. */
export interface RefreshResult {
  matched: number;
  added: number;
  removed: number;
  duration_ms: number;
}

/** A condition that selects players by a sign of gambling harm, why that matters, and what to do. */
export interface Warning {
  path: string;
  code: string;
  message: string;
}

/** The audience of a definition that is not saved. */
export interface Preview {
  estimated_size: number;
  sample: readonly string[];
  compiled_query: string;
  per_condition?: readonly { path: string; size: number }[];
  warnings?: readonly Warning[];
  reach?: readonly {
    channel: string;
    sampled: number;
    reachable: number;
    by_code: Readonly<Record<string, number>>;
  }[];
}

const KEPT_MS = 60_000;

/**
 * The audience of a definition, given as JSON; undefined: nothing is asked. The question before it is aborted. Kept apart
 * from what a change of the project makes old: saving a segment changes no audience.
 */
export function usePreview(
  definition: string | undefined,
  ask: { per_condition?: true; warnings?: true; reach?: true },
) {
  const place = usePlace();
  return useQuery<Answer<Preview>, ApiError>({
    queryKey: ['segment preview', place.project_id, ask, definition],
    queryFn: ({ signal }) =>
      call<Preview>({
        method: 'POST',
        path: '/v1/segments/preview',
        body: { definition: parseExactly(definition ?? ''), ...ask },
        project: place,
        signal,
      }),
    enabled: definition !== undefined,
    placeholderData: keepPreviousData,
    gcTime: KEPT_MS,
  });
}
