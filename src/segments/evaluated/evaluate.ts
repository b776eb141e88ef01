import type { Session, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { PROFILE } from '../dependencies.ts';
import type { SegmentToEvaluate } from '../dirty-player-queries.ts';
import type { Players } from '../evaluation-queries.ts';
import type { Findings } from '../sql/matrix.ts';
import {
  evaluateSegments,
  verdictOf,
  type EvaluationDeps,
  type FindingsOf,
  type OnRefused,
  type SegmentVerdict,
} from '../verdict.ts';
import { isKnown, type Known } from './changes.ts';
import {
  beginEvaluation,
  forgetEvaluated,
  selectEvaluated,
  updateEvaluated,
  type NextContent,
} from './evaluated-queries.ts';
import type { Plan } from './plan.ts';

/** Whether ClickHouse is asked about a segment with every player, so that the totals and traits of the plan are known. */
export function isPlanned({ undecided }: Plan, { reads }: Pick<SegmentToEvaluate, 'reads'>): boolean {
  return reads.some((read) => (read === PROFILE || read.startsWith('event:')) && !undecided.has(read));
}

/** Segments of an evaluation. */
export interface ToEvaluate {
  /** Those that read what has changed. */
  concerned: readonly SegmentToEvaluate[];
  /** These and those that are planned. */
  every: readonly SegmentToEvaluate[];
}

/**
 * Evaluates players whose data have changed. When totals and traits decide all segments that are concerned, the players of whom
 * these are known are decided by them. ClickHouse is asked about the others, and what it says is kept. `are_themselves`: none
 * of the players stands for another one, who was merged into it and whose events may not be counted yet. The session holds the
 * lock of the project. `now`: asked after the evaluation has begun, so that no sweep has passed it. Rejects as
 * {@link evaluateSegments} does.
 */
export async function evaluatePlayers(
  deps: EvaluationDeps,
  session: Session,
  project: ProjectRef,
  plan: Plan | undefined,
  players: Players,
  { concerned, every }: ToEvaluate,
  are_themselves: boolean,
  refuse: OnRefused,
): Promise<SegmentVerdict> {
  const { postgres, clock } = deps;
  const now = () => new Date(clock.now_ms());
  if (plan === undefined || players.player_ids.length === 0)
    return evaluateSegments(deps, project, players, concerned, now(), refuse);
  const is_decided = are_themselves && concerned.every(({ segment_id }) => plan.decided.has(segment_id));
  const known = is_decided ? await selectKnown(postgres.service, project, plan, players.player_ids) : [];
  const by_plan = await decide(postgres.service, project, plan, known, concerned);
  const of_known = new Set(known.map(({ player_id }) => player_id));
  const player_ids = players.player_ids.filter((player_id) => !of_known.has(player_id));
  if (player_ids.length === 0) return by_plan;
  const versions = await session.begin((tx) => beginEvaluation(tx, project, plan.stamp, player_ids));
  const at = now();
  const asked = await evaluateSegments(deps, project, { ...players, player_ids }, every, at, refuse);
  const next = nextContents(plan, versions, asked.findings, at.getTime());
  await session.begin(async (tx) => {
    const written = await updateEvaluated(tx, project, next);
    await forgetEvaluated(
      tx,
      project,
      player_ids.filter((player_id) => !written.has(player_id)),
    );
  });
  return joined(by_plan, asked);
}

async function selectKnown(
  sql: Tx,
  project: ProjectRef,
  plan: Plan,
  player_ids: readonly string[],
): Promise<Known[]> {
  const rows = await selectEvaluated(sql, project, player_ids);
  return [...rows.values()].filter((row) => isKnown(row, plan));
}

async function decide(
  sql: Tx,
  project: ProjectRef,
  { decided }: Plan,
  known: readonly Known[],
  segments: readonly SegmentToEvaluate[],
): Promise<SegmentVerdict> {
  const matching = new Map<string, ReadonlySet<string>>();
  for (const { segment_id } of segments) {
    const isMatch = decided.get(segment_id);
    const members = isMatch === undefined ? [] : known.filter((row) => isMatch(row));
    matching.set(segment_id, new Set(members.map(({ player_id }) => player_id)));
  }
  const player_ids = known.map(({ player_id }) => player_id);
  return known.length === 0
    ? { matching, entered: [], left: [] }
    : verdictOf(sql, project, player_ids, matching);
}

/** What is known of players now; those are omitted of whom a total or trait was not asked, because a segment was not. */
function nextContents(
  plan: Plan,
  versions: ReadonlyMap<string, bigint>,
  found: FindingsOf,
  edge_ms: number,
): NextContent[] {
  return [...found].flatMap(([player_id, findings]) => {
    const version = versions.get(player_id);
    const totals = plan.totals.map(({ name }) => first(findings, (one) => one.totalOf(name)));
    const traits = plan.traits.map(({ name }) => first(findings, (one) => one.holds(name)));
    if (version === undefined || !totals.every(Number.isSafeInteger) || traits.includes(undefined)) return [];
    return {
      player_id,
      version,
      totals: totals.map(Number),
      traits: traits.map(Number).join(''),
      edge_ms,
      since_ms: Math.max(0, ...findings.map(({ newest_ms }) => newest_ms)),
      recent: [],
    };
  });
}

function first<T>(findings: readonly Findings[], of: (one: Findings) => T | undefined): T | undefined {
  for (const one of findings) {
    const value = of(one);
    if (value !== undefined) return value;
  }
  return undefined;
}

function joined(a: SegmentVerdict, b: SegmentVerdict): SegmentVerdict {
  const matching = new Map(b.matching);
  for (const [segment_id, members] of a.matching) {
    const others = matching.get(segment_id);
    // A segment that ClickHouse refuses is evaluated later for all of them.
    if (others !== undefined) matching.set(segment_id, new Set([...members, ...others]));
  }
  const isEvaluated = ({ segment_id }: { segment_id: string }) => matching.has(segment_id);
  return {
    matching,
    entered: [...a.entered.filter(isEvaluated), ...b.entered],
    left: [...a.left.filter(isEvaluated), ...b.left],
  };
}
