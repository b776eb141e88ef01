import { ApiError } from '../errors.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { Platform } from '../wiring/platform.ts';
import type { Group } from './language/conditions.ts';
import { readDefinition } from './language/definition.ts';
import { EVERYTHING } from './dependencies.ts';
import { matchPlayers, type Players } from './evaluation-queries.ts';
import {
  changeMemberships,
  lockProjectEvaluation,
  selectLive,
  selectMemberships,
  shareMemberships,
  type Membership,
} from './membership-queries.ts';
import { markFailed, type SegmentRef } from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { copyPendingChanges } from './publish-changes.ts';
import {
  deleteDirtyPlayers,
  insertDirtyPlayers,
  readDirtyPlayers,
  resolvePlayers,
  selectDeferredSegments,
  selectSegmentsToEvaluate,
  type SegmentToEvaluate,
  type DirtyEntry,
} from './dirty-player-queries.ts';
import { markDependentsDirty } from './dirty-players.ts';

export type EvaluationDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger' | 'metrics'>;

/** Entries read per evaluation. */
const MAX_ENTRIES = 200;
/** Players per evaluation: the query carries their ids. */
const MAX_PLAYERS = 2_000;
/** Segments per query: each condition makes it longer. */
const MAX_SEGMENTS_AT_ONCE = 100;

/** A segment with its parsed definition. */
export interface Candidate extends SegmentToEvaluate {
  parsed: Group;
}

/** The result of an evaluation of some players. */
export interface Verdict {
  /** The memberships that the definitions give now; `entered` and `left` are the differences from the stored ones. */
  matching: Membership[];
  entered: Membership[];
  left: Membership[];
}

/**
 * Evaluates the oldest dirty players of a project in the realtime segments that read what has changed, with one query
 * for up to 100 segments. A lock lets one evaluation of a project run at a time, so that an earlier result never
 * overwrites a later one. For a segment that is being refreshed, the players are queued again and evaluated after the
 * refresh. One transaction changes the memberships, adds their outbox rows and removes the entries. Returns false when
 * another evaluation holds the lock, or when there is no entry to work on.
 */
export async function evaluateDirtyPlayers(deps: EvaluationDeps, project: ProjectRef): Promise<boolean> {
  const { postgres, clock } = deps;
  return postgres.service.begin(async (tx) => {
    if (!(await lockProjectEvaluation(tx, project, false))) return false;
    const quiet = await shareMemberships(
      tx,
      refsOf(project, await selectDeferredSegments(tx, project)),
      false,
    );
    const entries = boundPlayers(await readDirtyPlayers(tx, project, [...quiet], MAX_ENTRIES));
    if (entries.length === 0) return false;
    const now = new Date(clock.now_ms());
    const segments = (await selectSegmentsToEvaluate(tx, project, 'realtime')).filter((segment) =>
      entries.some((entry) => concerns(entry, segment)),
    );
    const free = await shareMemberships(tx, refsOf(project, segments), false);
    const players = await resolvePlayers(
      tx,
      project,
      entries.flatMap(({ player_ids }) => player_ids),
    );
    // A segment that is being refreshed gets an entry of its own, which is evaluated after the refresh.
    await insertDirtyPlayers(
      tx,
      segments
        .filter(({ segment_id }) => !free.has(segment_id))
        .map(({ segment_id, reads }) => ({ ...project, reads, segment_id, player_ids: players.player_ids })),
      now,
    );
    const live = await selectLive(tx, project, free);
    const candidates = segments.filter(({ segment_id }) => live.has(segment_id)).map(candidateOf);
    await evaluate(deps, tx, project, players, candidates, now);
    await deleteDirtyPlayers(
      tx,
      project,
      entries.map(({ entry_id }) => entry_id),
    );
    return true;
  });
}

function refsOf(project: ProjectRef, segments: readonly { segment_id: string }[]): SegmentRef[] {
  return segments.map(({ segment_id }) => ({ ...project, segment_id }));
}

/** Whole entries of at most 2,000 players together; always the first. */
function boundPlayers(entries: readonly DirtyEntry[]): DirtyEntry[] {
  let players = 0;
  return entries.filter(({ player_ids }, i) => (players += player_ids.length) <= MAX_PLAYERS || i === 0);
}

/** Whether the players of the entry are to be evaluated in the segment. */
function concerns(entry: DirtyEntry, segment: SegmentToEvaluate): boolean {
  if (entry.segment_id !== null) return entry.segment_id === segment.segment_id;
  return entry.reads.includes(EVERYTHING) || entry.reads.some((read) => segment.reads.includes(read));
}

/** Parses the segment's definition. Throws SEGMENT_DEFINITION_INVALID. */
export function candidateOf(segment: SegmentToEvaluate): Candidate {
  return { ...segment, parsed: readDefinition(segment.definition) };
}

/**
 * Evaluates segments for players, writes which memberships begin and end, and marks the players dirty for the segments
 * that refer to these. The caller holds the project's evaluation lock and the shared locks of the segments.
 */
export async function evaluate(
  deps: EvaluationDeps,
  tx: Tx,
  project: ProjectRef,
  players: Players,
  candidates: readonly Candidate[],
  now: Date,
): Promise<Verdict> {
  if (candidates.length === 0 || players.player_ids.length === 0)
    return { matching: [], entered: [], left: [] };
  // A segment condition reads the members from ClickHouse, so the pending changes are copied there first.
  if (candidates.some(({ reads }) => reads.some((read) => read.startsWith('segment:')))) {
    await copyPendingChanges(deps, project);
  }
  const evaluated: Candidate[] = [];
  const matching: Membership[] = [];
  for (let from = 0; from < candidates.length; from += MAX_SEGMENTS_AT_ONCE) {
    const part = candidates.slice(from, from + MAX_SEGMENTS_AT_ONCE);
    for (const { candidate, player_ids } of await matchEach(deps, tx, project, players, part, now)) {
      evaluated.push(candidate);
      for (const player_id of player_ids) matching.push({ segment_id: candidate.segment_id, player_id });
    }
  }
  const current = await selectMemberships(
    tx,
    project,
    players.player_ids,
    evaluated.map(({ segment_id }) => segment_id),
  );
  const [matching_keys, current_keys] = [keysOf(matching), keysOf(current)];
  const entered = matching.filter((one) => !current_keys.has(keyOf(one)));
  const left = current.filter((one) => !matching_keys.has(keyOf(one)));
  await changeMemberships(tx, project, entered, left, now);
  await markDependentsDirty(tx, project, [...entered, ...left], now);
  return { matching, entered, left };
}

const keyOf = ({ segment_id, player_id }: Membership) => `${segment_id} ${player_id}`;
const keysOf = (list: readonly Membership[]) => new Set(list.map(keyOf));

/**
 * Evaluates all candidates in one query. If the query is too expensive, it evaluates each half separately, so that one
 * expensive segment does not fail the others. A segment that fails alone is marked as failed and left out.
 */
async function matchEach(
  { clickhouse, logger }: Pick<EvaluationDeps, 'clickhouse' | 'logger'>,
  tx: Tx,
  project: ProjectRef,
  players: Players,
  candidates: readonly Candidate[],
  now: Date,
): Promise<{ candidate: Candidate; player_ids: Iterable<string> }[]> {
  const question = { ...project, now_ms: now.getTime() };
  try {
    const found = await matchPlayers(
      clickhouse,
      question,
      players,
      candidates.map(({ parsed }) => parsed),
    );
    return candidates.map((candidate, i) => ({ candidate, player_ids: found[i] ?? [] }));
  } catch (error) {
    if (candidates.length === 1 && error instanceof ApiError) {
      const ref = { ...project, segment_id: candidates[0]?.segment_id ?? '' };
      logger.warn({ err: error, segment_id: ref.segment_id }, 'a segment could not be evaluated');
      await markFailed(tx, ref, error.message);
      return [];
    }
    if (!(error instanceof ApiError)) throw error;
    const half = Math.ceil(candidates.length / 2);
    const deps = { clickhouse, logger };
    const first = await matchEach(deps, tx, project, players, candidates.slice(0, half), now);
    return [...first, ...(await matchEach(deps, tx, project, players, candidates.slice(half), now))];
  }
}
