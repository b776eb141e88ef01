import { useQuery } from '@tanstack/react-query';
import { call, type Answer } from '../../api/call.ts';
import type { ApiError, Issue } from '../../api/errors.ts';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';
import type { Written } from './graph.ts';

export const STATUSES = ['draft', 'active', 'paused'] as const;
export type JourneyStatus = (typeof STATUSES)[number];
export const RUN_STATUSES = ['running', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** An issue of a definition; `node_id` is the node that it is about. */
export interface JourneyIssue extends Issue {
  code: string;
  node_id?: string;
}

/** A journey as lists show it (spec part 2). */
export interface ListedJourney {
  id: string;
  name: string;
  status: JourneyStatus;
  trigger: Written;
  /** The version of which new runs are; null: never activated. */
  version: number | null;
  paused_at: string | null;
  /** Runs stand still. */
  hold: boolean;
  last_error: string | null;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
}

/** One journey; trigger, graph and settings as saved last. */
export interface JourneyRecord extends ListedJourney {
  graph: unknown;
  settings: Written;
  /** The version that what was saved last becomes; null: it is live. */
  draft_version: number | null;
  warnings: readonly JourneyIssue[];
}

const REFRESH_MS = 10_000;
const STATS_REFRESH_MS = 15_000;

/** The path of one journey; its id comes from the address of the page. */
export function journeyPath(id: string): string {
  return `/v1/journeys/${encodeURIComponent(id)}`;
}

export function useJourneys(status: string | undefined) {
  return useList<ListedJourney>('/v1/journeys', { status }, { refresh_ms: REFRESH_MS });
}

export function useJourney(id: string, refresh_ms?: number) {
  return useRead<JourneyRecord>(journeyPath(id), {}, refresh_ms === undefined ? {} : { refresh_ms });
}

/** The journey as it is when the page is opened, for those who edit it: never an answer that is kept from before. */
export function useJourneyNow(id: string) {
  const place = usePlace();
  return useQuery<Answer<JourneyRecord>, ApiError>({
    queryKey: [place.project_id, journeyPath(id), 'now'],
    queryFn: ({ signal }) => call<JourneyRecord>({ path: journeyPath(id), project: place, signal }),
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** A published version; `running` counts up to 1,000. */
export interface ListedVersion {
  version: number;
  published_at: string;
  published_by: string | null;
  running: number;
}

export const MOST_COUNTED = 1_000;

export function useVersions(id: string, options: { enabled?: boolean; page?: number } = {}) {
  return useList<ListedVersion>(
    `${journeyPath(id)}/versions`,
    {},
    { refresh_ms: STATS_REFRESH_MS, ...options },
  );
}

/** One version as it was published. */
export interface VersionRecord {
  version: number;
  trigger: Written;
  graph: unknown;
  settings: Written;
  published_at: string;
  published_by: string | null;
}

export function useVersion(id: string, version: number | undefined) {
  return useRead<VersionRecord>(
    `${journeyPath(id)}/versions/${version ?? ''}`,
    {},
    { enabled: version !== undefined },
  );
}

/** What became of the runs at one node. */
export interface NodeStats {
  node_id: string;
  entered: number;
  waiting: number;
  completed: number;
  failed: number;
  exited: number;
  /** The messages of a node that sends. */
  sends: Readonly<Record<string, number>> | null;
}

export interface JourneyStats {
  runs: Readonly<Record<RunStatus, number>>;
  nodes: readonly NodeStats[];
  goal: { runs: number; reached: number; held_out_runs: number; held_out_reached: number } | null;
}

export function useStats(id: string) {
  return useRead<JourneyStats>(`${journeyPath(id)}/stats`, {}, { refresh_ms: STATS_REFRESH_MS });
}

/** A run of a journey for one player. */
export interface RunRecord {
  run_id: string;
  journey_version: number;
  player_id: string;
  status: RunStatus;
  current_node_id: string;
  started_at: string;
  completed_at: string | null;
  /** When it goes on by itself; null: it has ended. */
  due_at: string | null;
  context: Written;
  trigger: { kind: string; event?: string };
  outcome: string | null;
  error_code: string | null;
  cancelled_by: string | null;
}

export interface StepRecord {
  seq: number;
  node_id: string;
  node_type: string | null;
  status: 'waiting' | 'completed' | 'skipped' | 'failed';
  entered_at: string | null;
  completed_at: string | null;
  outcome: string | null;
  due_at?: string | null;
  error_code: string | null;
  message_status?: string;
}

export function useRuns(id: string, filters: { status?: string; node_id?: string; player_id?: string }) {
  return useList<RunRecord>(`${journeyPath(id)}/runs`, filters, { refresh_ms: REFRESH_MS });
}

export function useRun(id: string, run_id: string) {
  return useRead<RunRecord & { history: readonly StepRecord[] }>(
    `${journeyPath(id)}/runs/${encodeURIComponent(run_id)}`,
    {},
    { refresh_ms: REFRESH_MS },
  );
}

/** What a node can refer to. */
export interface Named {
  id: string;
  name: string;
}

const LARGEST_PAGE = { page: 200 };

export function useSegments(enabled = true) {
  return useList<Named>('/v1/segments', {}, { ...LARGEST_PAGE, enabled });
}

export function useTemplates(enabled = true) {
  return useList<Named & { channel: string }>('/v1/templates', {}, { ...LARGEST_PAGE, enabled });
}

export function useProviders(enabled = true) {
  return useList<Named & { channel: string }>('/v1/messaging-providers', {}, { ...LARGEST_PAGE, enabled });
}

export function useBonusTemplates(enabled = true) {
  return useList<Named>('/v1/bonus-templates', {}, { ...LARGEST_PAGE, enabled });
}

/** The part of `GET /v1/segments/fields` that journeys need: events, and fields of players with their operators. */
export interface Vocabulary {
  fields: readonly { name: string; operators: readonly string[]; values: readonly string[] | null }[];
  custom_attributes: { prefix: string; operators: readonly string[] };
  events: readonly { name: string }[];
}

export function useVocabulary(): Vocabulary | undefined {
  return useRead<Vocabulary>('/v1/segments/fields').data?.data;
}
