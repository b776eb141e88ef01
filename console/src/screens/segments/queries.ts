import type { Segment, SegmentPreview } from '@player-engagement/client/admin';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { everyOf } from '../../api/choices.ts';
import { ask } from '../../api/client.ts';
import { asWritten, parseExactly } from '../../api/json.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead, useWholeList } from '../../api/queries.ts';

export type {
  AuditLogEntry as AuditEntry,
  Segment as SegmentRecord,
  SegmentBacktest as Backtested,
  SegmentExplanation as Explanation,
  SegmentMember as Member,
  SegmentPreview as Preview,
  SegmentReference as Reference,
  SegmentSize as SizePoint,
} from '@player-engagement/client/admin';

/** A condition that selects players by a sign of gambling harm, why that matters, and what to do. */
export type Warning = NonNullable<SegmentPreview['warnings']>[number];

export type Strategy = Segment['refresh_strategy'];
export const STRATEGIES = everyOf<Strategy>()(['realtime', 'scheduled', 'manual']);

const REFRESH_MS = 10_000;

/** The list of segments; one that is searched reads all of its pages. */
export function useSegments(is_searched: boolean) {
  return useList('segments.list', [], { refresh_ms: REFRESH_MS, is_whole: is_searched });
}

/** Segments to choose from. */
export function useSegmentChoice() {
  return useWholeList('segments.list', []);
}

/** One segment; `refresh_ms` for pages that show how it is kept up to date. */
export function useSegment(id: string, refresh_ms?: number) {
  return useRead('segments.get', [id], refresh_ms === undefined ? {} : { refresh_ms });
}

/** What definitions may say; it changes with the version of the service only. */
export function useVocabulary() {
  return useRead('segments.fields', []);
}

/** The names of the segments, by their ids. */
export function useSegmentNames(): ReadonlyMap<string, string> {
  const { rows = [] } = useSegmentChoice();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export function useMembers(id: string) {
  return useList('segments.members', [id]);
}

export function useHistory(id: string) {
  return useRead('segments.history', [id, {}]);
}

export function useReferences(id: string) {
  return useRead('segments.references', [id]);
}

export function useExplanation(id: string, player_id: string) {
  return useRead('segments.explain', [id, { player_id }]);
}

const KEPT_MS = 60_000;

/**
 * The audience of a definition, given as JSON; undefined: nothing is asked. The question before it is aborted. Kept apart
 * from what a change of the project makes old: saving a segment changes no audience.
 */
export function usePreview(
  json: string | undefined,
  counts: { per_condition?: true; warnings?: true; reach?: true },
) {
  const place = usePlace();
  return useQuery({
    queryKey: ['segment preview', place.project_id, counts, json],
    queryFn: ({ signal }) => {
      const definition = parseExactly(json ?? '') as Segment['definition'];
      return ask('segments.preview', [asWritten({ definition, ...counts })], { project: place, signal });
    },
    enabled: json !== undefined,
    placeholderData: keepPreviousData,
    gcTime: KEPT_MS,
  });
}

/** A moment of the past, and how many days after it are looked at. */
export interface Past {
  /** ISO 8601. */
  as_of: string;
  horizon_days: number;
}

/**
 * Who would have been in a definition, given as JSON, at a moment of the past, and what they did then. What was stays, and the
 * question is expensive: it is asked once, and again only when the user asks.
 */
export function useBacktest(json: string, past: Past) {
  const place = usePlace();
  return useQuery({
    queryKey: ['segment backtest', place.project_id, past.as_of, past.horizon_days, json],
    queryFn: ({ signal }) => {
      const definition = parseExactly(json) as Segment['definition'];
      return ask('segments.backtest', [asWritten({ definition, ...past })], { project: place, signal });
    },
    staleTime: Infinity,
    gcTime: KEPT_MS,
  });
}
