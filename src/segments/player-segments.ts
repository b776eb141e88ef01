import type { AuditChange } from '../http/audit.ts';
import { requirePlayer } from '../players/profile/read.ts';
import type { PlayerRef } from '../players/player-ref.ts';
import { readOfSegment } from './dependencies.ts';
import type { Players } from './evaluation-queries.ts';
import { lockProjectEvaluation, REQUEST_WAIT_MS, shareMemberships } from './lock-queries.ts';
import { selectLive } from './membership-queries.ts';
import { noteError } from './queries.ts';
import { evaluateSegments, writeVerdict, type EvaluationDeps, type SegmentVerdict } from './verdict.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { selectSegmentsToEvaluate } from './dirty-player-queries.ts';

/** The result of evaluating all segments of a project for one player (spec part 4); the lists hold segment ids. */
export interface PlayerRefresh {
  player_id: string;
  matched_segment_ids: string[];
  added: string[];
  removed: string[];
  total_segments_evaluated: number;
  duration_ms: number;
}

/**
 * Evaluates every segment of the project for one player, manual and scheduled ones too, each after the segments that it
 * refers to, and writes what changed. It waits for refreshes that are running, at most 20 s
 * for each lock; then it rejects with 55P03, and what was evaluated until then stays. A segment that cannot be evaluated is
 * omitted; its `last_error` says why. `audit` gets the counts of each transaction that evaluated any. Rejects with
 * PLAYER_NOT_FOUND.
 */
export async function refreshPlayerSegments(
  deps: EvaluationDeps,
  ref: PlayerRef,
  audit: AuditChange,
): Promise<PlayerRefresh> {
  const started_ms = performance.now();
  const { player_id, event_player_ids } = await requirePlayer(deps.postgres, ref);
  const project = { tenant_id: ref.tenant_id, project_id: ref.project_id };
  const players = { player_ids: [player_id], former_ids: event_player_ids.slice(1) };
  const found = { matching: [] as string[], entered: [] as string[], left: [] as string[] };
  const done = new Set<string>();
  for (let next = 1; next > 0;) {
    const verdict = await evaluateNext(deps, project, players, done, audit);
    for (const [segment_id, members] of verdict.matching)
      if (members.size > 0) found.matching.push(segment_id);
    found.entered.push(...verdict.entered.map(({ segment_id }) => segment_id));
    found.left.push(...verdict.left.map(({ segment_id }) => segment_id));
    next = verdict.tried;
  }
  return {
    player_id,
    matched_segment_ids: found.matching,
    added: found.entered,
    removed: found.left,
    total_segments_evaluated: done.size,
    duration_ms: Math.round(performance.now() - started_ms),
  };
}

/**
 * Evaluates the segments whose references are all in `done`, and adds them to `done`; `tried`: how many. Segments that
 * refer to these read their members from ClickHouse, and only committed changes are copied there.
 */
async function evaluateNext(
  deps: EvaluationDeps,
  project: ProjectRef,
  players: Players,
  done: Set<string>,
  audit: AuditChange,
): Promise<SegmentVerdict & { tried: number }> {
  const { postgres, clock, logger } = deps;
  const { service } = postgres;
  return postgres.requestSession(async (session) => {
    const segments = await selectSegmentsToEvaluate(service, project, 'every');
    const ahead = new Set(segments.filter((one) => !done.has(one.segment_id)).map(readOf));
    const next = segments.filter(
      (one) => ahead.has(readOf(one)) && !one.reads.some((read) => ahead.has(read)),
    );
    const ids = next.map(({ segment_id }) => segment_id);
    await shareMemberships(
      session,
      ids.map((segment_id) => ({ ...project, segment_id })),
      REQUEST_WAIT_MS,
    );
    await lockProjectEvaluation(session, project, REQUEST_WAIT_MS);
    const now = new Date(clock.now_ms());
    const live = await selectLive(service, project, ids);
    const candidates = next.filter(({ segment_id }) => live.has(segment_id));
    const verdict = await evaluateSegments(
      deps,
      project,
      players,
      candidates,
      now,
      async ({ segment_id }, reason) => {
        logger.warn({ segment_id, reason }, 'a segment could not be evaluated for a player');
        await noteError(service, { ...project, segment_id }, reason.slice(0, 1_000));
      },
    );
    await writeVerdict(session, project, verdict, now, async (tx) => {
      if (next.length === 0) return;
      const after = { evaluated: next.length, added: verdict.entered.length, removed: verdict.left.length };
      await audit(tx, { ...project, resource_id: players.player_ids[0] ?? '', before: null, after });
    });
    for (const segment_id of ids) done.add(segment_id);
    return { ...verdict, tried: next.length };
  });
}

const readOf = ({ segment_id }: { segment_id: string }) => readOfSegment(segment_id);
