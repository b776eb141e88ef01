import { ApiError } from '../errors.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { Platform } from '../wiring/platform.ts';
import type { Group } from './language/conditions.ts';
import { readDefinition } from './language/definition.ts';
import { EVERYTHING } from './dependencies.ts';
import { matchPlayers, type Players } from './evaluation-queries.ts';
import {
  changeMemberships,
  lockProjectPasses,
  selectLive,
  selectMemberships,
  shareMemberships,
  type Membership,
} from './membership-queries.ts';
import { markFailed, type SegmentRef } from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { copyPendingChanges } from './tell-changes.ts';
import {
  deleteTouches,
  insertTouches,
  readTouches,
  resolvePlayers,
  selectDeferredSegments,
  selectFollowedSegments,
  type FollowedSegment,
  type QueuedTouch,
} from './touch-queries.ts';
import { touchReaders } from './touch.ts';

export type PassDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock' | 'logger' | 'metrics'>;

const MAX_TOUCHES = 200;
/** Looked at in one pass: they are named in the question. */
const MAX_PLAYERS = 2_000;
/** Of one statement: it grows by the condition. */
const MAX_SEGMENTS_AT_ONCE = 100;

/** A segment with its parsed definition. */
export interface Candidate extends FollowedSegment {
  parsed: Group;
}

/** What a pass over some players found. */
export interface Verdict {
  matching: Membership[];
  entered: Membership[];
  left: Membership[];
}

/**
 * Looks at touched players of a project again, in the realtime segments that read what was touched: one question for
 * all of them. Passes of a project follow each other, so that a later look never loses to an earlier one; a segment that
 * is being refreshed meanwhile looks at them when that is done. Membership, word of it and the end of the touches are
 * one transaction. Returns false when there was nothing it could do.
 */
export async function passOverTouches(deps: PassDeps, project: ProjectRef): Promise<boolean> {
  const { postgres, clock } = deps;
  return postgres.service.begin(async (tx) => {
    if (!(await lockProjectPasses(tx, project, false))) return false;
    const quiet = await shareMemberships(
      tx,
      refsOf(project, await selectDeferredSegments(tx, project)),
      false,
    );
    const touches = boundPlayers(await readTouches(tx, project, [...quiet], MAX_TOUCHES));
    if (touches.length === 0) return false;
    const now = new Date(clock.now_ms());
    const segments = (await selectFollowedSegments(tx, project, 'realtime')).filter((segment) =>
      touches.some((touch) => concerns(touch, segment)),
    );
    const free = await shareMemberships(tx, refsOf(project, segments), false);
    const players = await resolvePlayers(
      tx,
      project,
      touches.flatMap(({ player_ids }) => player_ids),
    );
    // Those that are being refreshed look at them when that is done.
    await insertTouches(
      tx,
      segments
        .filter(({ segment_id }) => !free.has(segment_id))
        .map(({ segment_id, reads }) => ({ ...project, reads, segment_id, player_ids: players.player_ids })),
      now,
    );
    const live = await selectLive(tx, project, free);
    const candidates = segments.filter(({ segment_id }) => live.has(segment_id)).map(candidateOf);
    await evaluate(deps, tx, project, players, candidates, now);
    await deleteTouches(
      tx,
      project,
      touches.map(({ touch_id }) => touch_id),
    );
    return true;
  });
}

function refsOf(project: ProjectRef, segments: readonly { segment_id: string }[]): SegmentRef[] {
  return segments.map(({ segment_id }) => ({ ...project, segment_id }));
}

/** Whole touches, up to the number of players of one pass; the first always. */
function boundPlayers(touches: readonly QueuedTouch[]): QueuedTouch[] {
  let players = 0;
  return touches.filter(({ player_ids }, i) => (players += player_ids.length) <= MAX_PLAYERS || i === 0);
}

function concerns(touch: QueuedTouch, segment: FollowedSegment): boolean {
  if (touch.segment_id !== null) return touch.segment_id === segment.segment_id;
  return touch.reads.includes(EVERYTHING) || touch.reads.some((read) => segment.reads.includes(read));
}

export function candidateOf(segment: FollowedSegment): Candidate {
  return { ...segment, parsed: readDefinition(segment.definition) };
}

/** Evaluates segments for players and has them enter and leave; the caller holds the locks. */
export async function evaluate(
  deps: PassDeps,
  tx: Tx,
  project: ProjectRef,
  players: Players,
  candidates: readonly Candidate[],
  now: Date,
): Promise<Verdict> {
  if (candidates.length === 0 || players.player_ids.length === 0)
    return { matching: [], entered: [], left: [] };
  // Segments that refer to segments ask ClickHouse who is in them: it has to know by now.
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
  await touchReaders(tx, project, [...entered, ...left], now);
  return { matching, entered, left };
}

const keyOf = ({ segment_id, player_id }: Membership) => `${segment_id} ${player_id}`;
const keysOf = (list: readonly Membership[]) => new Set(list.map(keyOf));

/** All in one question; if that fails each half by itself, so that a bad one does not take the others with it. */
async function matchEach(
  { clickhouse, logger }: Pick<PassDeps, 'clickhouse' | 'logger'>,
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
