import type { Session, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { EVERYTHING } from '../dependencies.ts';
import type { DirtyEntry, SegmentToEvaluate } from '../dirty-player-queries.ts';
import type { FoundPlayers, Players } from '../evaluation-queries.ts';
import type { Membership } from '../membership-queries.ts';
import type { Found } from '../sql/matrix.ts';
import {
  evaluateSegments,
  verdictOf,
  type AskedVerdict,
  type EvaluationDeps,
  type OnRefused,
  type SegmentVerdict,
} from '../verdict.ts';
import { isKnown, type Known } from './changes.ts';
import {
  beginEvaluation,
  forgetEvaluated,
  isNotSwept,
  selectEvaluated,
  updateEvaluated,
  type NextContent,
} from './evaluated-queries.ts';
import { NO_STAMP, type Plan } from './plan.ts';

/** What is evaluated of some players. */
export interface ToEvaluate {
  players: Players;
  /** None of the players stands for another one, who was merged into it and whose events may not be counted yet. */
  are_themselves: boolean;
  /** Data have changed that the plan counts. */
  is_counted: boolean;
  /** The segments that read what has changed. */
  concerned: readonly SegmentToEvaluate[];
  /** These, and those of the plan. */
  every: readonly SegmentToEvaluate[];
}

/** A verdict; `keep` writes the rows of the players. It belongs in the last transaction that writes the verdict. */
export interface KeptVerdict extends SegmentVerdict {
  keep: (tx: Tx) => Promise<void>;
}

/** Whether what the entry says has changed is counted by the plan. */
export function isCounted({ counted }: Plan, { reads }: Pick<DirtyEntry, 'reads'>): boolean {
  return counted.size > 0 && reads.some((read) => read === EVERYTHING || counted.has(read));
}

/**
 * Evaluates players whose data have changed. The row of a known player decides that its memberships stay; ClickHouse is asked
 * before one changes, since the row may be some seconds older. The other players are asked about in all segments of the plan
 * if counted data have changed, otherwise in the segments that are concerned. The session holds the lock of the project.
 * Rejects as {@link evaluateSegments} does.
 */
export async function evaluatePlayers(
  deps: EvaluationDeps,
  session: Session,
  project: ProjectRef,
  plan: Plan | undefined,
  asked: ToEvaluate,
  refuse: OnRefused,
): Promise<KeptVerdict> {
  const { players, concerned } = asked;
  const ask = (player_ids: readonly string[], segments: readonly SegmentToEvaluate[], at?: Date) =>
    evaluateSegments(
      deps,
      project,
      { ...players, player_ids },
      segments,
      at ?? new Date(deps.clock.now_ms()),
      refuse,
    );
  if (plan === undefined)
    return { ...(await ask(players.player_ids, concerned)), keep: () => Promise.resolve() };
  const rows = await selectEvaluated(deps.postgres.service, project, players.player_ids);
  const known = asked.are_themselves ? [...rows.values()].filter((row) => isKnown(row, plan)) : [];
  const of_known = await confirm(deps, project, plan, known, concerned, ask);
  // A segment that was refused is not asked again: it is evaluated later for all players.
  const isLeft = ({ segment_id }: SegmentToEvaluate) =>
    of_known.verdict.matching.has(segment_id) || !concerned.some((one) => one.segment_id === segment_id);
  const known_ids = new Set(known.map(({ player_id }) => player_id));
  const player_ids = players.player_ids.filter((player_id) => !known_ids.has(player_id));
  if (!asked.is_counted || player_ids.length === 0) {
    const of_others = await ask(player_ids, concerned.filter(isLeft));
    const gone = [...of_known.wrong, ...player_ids.filter((player_id) => rows.has(player_id))];
    return {
      ...joined(of_known.verdict, of_others),
      keep: (tx) => forgetEvaluated(tx, project, gone),
    };
  }
  const versions = await session.begin((tx) => beginEvaluation(tx, project, plan.stamp, player_ids));
  // After the rows are there: a sweep that passed them before has begun before.
  const at = new Date(deps.clock.now_ms());
  const found = await ask(player_ids, asked.every.filter(isLeft), at);
  const next = nextContents(plan, versions, found, at.getTime());
  return {
    ...joined(of_known.verdict, found),
    keep: async (tx) => {
      const ids = [...player_ids, ...of_known.wrong];
      // Locks the rows: the sink and the sweep wait.
      await selectEvaluated(tx, project, ids, true);
      const is_new = await isNotSwept(tx, project, at.getTime());
      const written = await updateEvaluated(tx, project, is_new ? next : []);
      await forgetEvaluated(
        tx,
        project,
        ids.filter((player_id) => !written.has(player_id)),
      );
    },
  };
}

/**
 * Decides known players. ClickHouse is asked about the segments that the plan does not decide, and about the players whose
 * membership would change in others. `wrong`: the players of whom it says something else than what is known.
 */
async function confirm(
  { postgres }: EvaluationDeps,
  project: ProjectRef,
  plan: Plan,
  known: readonly Known[],
  concerned: readonly SegmentToEvaluate[],
  ask: (player_ids: readonly string[], segments: readonly SegmentToEvaluate[]) => Promise<AskedVerdict>,
): Promise<{ verdict: SegmentVerdict; wrong: string[] }> {
  const decided = new Map<string, ReadonlySet<string>>();
  for (const { segment_id } of concerned) {
    const isMatch = plan.decided.get(segment_id);
    if (isMatch === undefined) continue;
    decided.set(segment_id, new Set(known.filter((row) => isMatch(row)).map(({ player_id }) => player_id)));
  }
  const all = known.map(({ player_id }) => player_id);
  if (all.length === 0) {
    const matching = new Map(concerned.map(({ segment_id }) => [segment_id, new Set<string>()]));
    return { verdict: { matching, entered: [], left: [] }, wrong: [] };
  }
  const { entered, left } = await verdictOf(postgres.service, project, all, decided);
  const changed = {
    players: idsOf(entered, left, 'player_id'),
    segments: idsOf(entered, left, 'segment_id'),
  };
  const is_open = concerned.some(({ segment_id }) => !decided.has(segment_id));
  const asked_ids = is_open ? all : [...changed.players];
  const segments = concerned.filter(
    ({ segment_id }) => !decided.has(segment_id) || changed.segments.has(segment_id),
  );
  const asked = await ask(asked_ids, segments);
  const are_asked = new Set(asked_ids);
  const matching = new Map(asked.matching);
  for (const [segment_id, members] of decided) {
    const others = [...members].filter((player_id) => !are_asked.has(player_id));
    if (!changed.segments.has(segment_id)) matching.set(segment_id, members);
    else if (matching.has(segment_id))
      matching.set(segment_id, new Set([...others, ...(matching.get(segment_id) ?? [])]));
  }
  const readers = readersOf(plan, asked.found);
  const wrong = known.filter((row) => are_asked.has(row.player_id) && !agrees(row, readers));
  return {
    verdict: { matching, entered: asked.entered, left: asked.left },
    wrong: wrong.map(({ player_id }) => player_id),
  };
}

function idsOf(
  entered: readonly Membership[],
  left: readonly Membership[],
  id: keyof Membership,
): ReadonlySet<string> {
  return new Set([...entered, ...left].map((one) => one[id]));
}

/** How to read the totals and traits of a plan out of what one statement found; undefined: it did not ask for them. */
interface Readers {
  found: FoundPlayers;
  totals: readonly (((row: Found) => number) | undefined)[];
  traits: readonly (((row: Found) => boolean) | undefined)[];
}

function readersOf(plan: Plan, found: readonly FoundPlayers[]): Readers[] {
  return found.map((one) => ({
    found: one,
    totals: plan.totals.map(({ name }) => one.findings.totalOf(name)),
    traits: plan.traits.map(({ name }) => one.findings.truthOf(name)),
  }));
}

/** Whether all that was found of a player is what is known. */
function agrees({ player_id, totals, traits }: Known, readers: readonly Readers[]): boolean {
  return readers.every(({ found, ...read }) => {
    const row = found.rows.get(player_id);
    return (
      row !== undefined &&
      read.totals.every((totalOf, i) => totalOf === undefined || totalOf(row) === totals[i]) &&
      read.traits.every((truthOf, i) => truthOf === undefined || truthOf(row) === (traits[i] === '1'))
    );
  });
}

/** What is known of players now: nothing unless all segments of the plan were asked. */
function nextContents(
  plan: Plan,
  versions: ReadonlyMap<string, bigint>,
  { matching, found }: AskedVerdict,
  edge_ms: number,
): NextContent[] {
  const are_all = [...plan.planned].every((segment_id) => matching.has(segment_id));
  if (!are_all || plan.stamp === NO_STAMP) return [];
  const readers = readersOf(plan, found);
  const [first] = found;
  return [...(first?.rows.keys() ?? [])].flatMap((player_id) => {
    const version = versions.get(player_id);
    const rows = readers.map((one) => one.found.rows.get(player_id));
    const read = <T>(of: (one: Readers) => ((row: Found) => T) | undefined): T | undefined => {
      const i = readers.findIndex((one) => of(one) !== undefined);
      const [reader, row] = [readers[i], rows[i]];
      return reader === undefined || row === undefined ? undefined : of(reader)?.(row);
    };
    const totals = plan.totals.map(({ index }) => read((one) => one.totals[index]));
    const traits = plan.traits.map(({ index }) => read((one) => one.traits[index]));
    if (version === undefined || !totals.every(Number.isSafeInteger) || traits.includes(undefined)) return [];
    const newest = readers.map(({ found: { findings } }, i) => findings.newestOf(rows[i] ?? {}));
    return {
      player_id,
      version,
      totals: totals.map(Number),
      traits: traits.map(Number).join(''),
      edge_ms,
      since_ms: Math.max(0, ...newest),
      recent: [],
    };
  });
}

function joined(a: SegmentVerdict, b: SegmentVerdict): SegmentVerdict {
  const matching = new Map(b.matching);
  for (const [segment_id, members] of a.matching) {
    const others = matching.get(segment_id);
    // A segment that ClickHouse refuses is evaluated later for all of them.
    if (others !== undefined) matching.set(segment_id, new Set([...members, ...others]));
  }
  const isEvaluated = ({ segment_id }: Membership) => matching.has(segment_id);
  return {
    matching,
    entered: [...a.entered.filter(isEvaluated), ...b.entered],
    left: [...a.left.filter(isEvaluated), ...b.left],
  };
}
