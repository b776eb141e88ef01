import type { Session, Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { EVERYTHING } from './dependencies.ts';
import {
  countDeferred,
  deleteDeferred,
  deleteDirtyPlayers,
  insertDirtyPlayers,
  keepDirtyPlayers,
  readDeferred,
  readDirtyPlayers,
  resolvePlayers,
  selectDeferredSegments,
  selectSegmentsToEvaluate,
  selectQuarantinedSegment,
  type DirtyEntry,
  type SegmentToEvaluate,
} from './dirty-player-queries.ts';
import { dirtyPlayersOf } from './dirty-players.ts';
import { tryLockMembership, tryLockProjectEvaluation, tryShareMemberships } from './lock-queries.ts';
import { selectLive } from './membership-queries.ts';
import { endQuarantine, quarantine, wantRefresh, type SegmentRef } from './queries.ts';
import { TooManyPlayers } from './refusal.ts';
import { evaluatePlayers, isCounted, type KeptVerdict, type ToEvaluate } from './evaluated/evaluate.ts';
import type { Plan } from './evaluated/plan.ts';
import { planFor } from './evaluated/plans.ts';
import { writeVerdict, type EvaluationDeps, type OnRefused } from './verdict.ts';

/** Entries read per evaluation. */
const MAX_ENTRIES = 200;
/** Players per evaluation: the query carries their ids. */
const MAX_PLAYERS = 2_000;
/** Parts that an evaluation takes its players in, when they are too many for one query; the others stay queued. */
const MAX_PARTS = 16;
/** Entries of up to 1,000 players that wait for a segment that is quarantined; with more it is refreshed instead. */
const MAX_DEFERRED = 100;

/**
 * Evaluates the oldest dirty players of a project in the realtime segments that read what has changed. ClickHouse is asked
 * with one query for up to 100 segments, and in parts when the players are too many for one query. A lock lets one evaluation of a project run
 * at a time, so that an earlier result never overwrites a later one. For a segment that is being refreshed, is quarantined
 * or cannot be evaluated, the players are queued again. The last transaction of a part changes memberships, adds their
 * outbox rows and removes its players from their entries. Returns false when another evaluation holds the lock, or when
 * there is no entry to work on. Rejects when ClickHouse cannot be asked; players who are not evaluated then stay.
 */
export async function evaluateDirtyPlayers(deps: EvaluationDeps, project: ProjectRef): Promise<boolean> {
  const { service } = deps.postgres;
  return deps.postgres.session(async (session) => {
    if (!(await tryLockProjectEvaluation(session, project))) return false;
    const deferred = await selectDeferredSegments(service, project);
    const quiet = await tryShareMemberships(session, refsOf(project, deferred));
    const entries = boundPlayers(await readDirtyPlayers(service, project, [...quiet], MAX_ENTRIES));
    if (entries.length === 0) return false;
    const now = new Date(deps.clock.now_ms());
    const plan = await planFor(service, project);
    const realtime = await selectSegmentsToEvaluate(service, project, 'realtime');
    const segments = realtime.filter((segment) => entries.some((entry) => concerns(entry, segment)));
    const every = new Set(segments);
    for (const one of realtime) if (plan?.planned.has(one.segment_id) === true) every.add(one);
    const free = await tryShareMemberships(session, refsOf(project, [...every]));
    const live = await selectLive(service, project, free);
    const isReady = (one: SegmentToEvaluate) => live.has(one.segment_id) && one.evaluation_failures === 0;
    const candidates = { concerned: segments.filter(isReady), every: [...every].filter(isReady) };
    const evaluation = { deps, session, plan, candidates };
    for await (const { verdict, player_ids, remove } of evaluateInParts(evaluation, project, entries, now)) {
      const last = async (tx: Tx) => {
        for (const segment of segments) {
          const { segment_id } = segment;
          if (verdict.matching.has(segment_id) || (free.has(segment_id) && !live.has(segment_id))) continue;
          const how = { now, is_free: free.has(segment_id) };
          await defer(tx, { ...project, segment_id }, segment, player_ids, how);
        }
        await remove(tx);
        await verdict.keep(tx);
      };
      await writeVerdict(session, project, verdict, now, last, true);
    }
    return true;
  });
}

/** How players are evaluated, and in which segments. */
interface Evaluation {
  deps: EvaluationDeps;
  session: Session;
  /** Undefined: what is found is not kept. */
  plan: Plan | undefined;
  candidates: Pick<ToEvaluate, 'concerned' | 'every'>;
}

/** A part of an evaluation. */
interface EvaluatedPart {
  verdict: KeptVerdict;
  player_ids: readonly string[];
  /** Takes the players of the part out of their entries. */
  remove: (tx: Tx) => Promise<void>;
}

/**
 * Evaluates the players of the entries without writing anything, in parts: the first one has `size` players. A part that is
 * too large for one query is halved, down to one player; for one player `evaluateSegments` bisects the segments. The part after one
 * that succeeds is twice as large, up to what was refused. A segment that is refused for one player is quarantined, and left
 * out of the further parts, which may be of any size again. After 16 parts the other players are left to the next
 * evaluation, which begins anew: a player with very many events makes no more parts small.
 */
async function* evaluateInParts(
  { deps, session, plan, candidates }: Evaluation,
  project: ProjectRef,
  entries: readonly DirtyEntry[],
  now: Date,
  size = MAX_PLAYERS,
): AsyncGenerator<EvaluatedPart> {
  const refused = new Set<string>();
  const refuse: OnRefused = async (segment, reason) => {
    await quarantineNow(deps, project, segment, reason, now);
    refused.add(segment.segment_id);
  };
  let left = entries;
  let too_large = Number.POSITIVE_INFINITY;
  for (let parts = 0; left.length > 0 && parts < MAX_PARTS;) {
    const cut = cutAt(left, size);
    const marked = new Set(idsOf(cut.part));
    const players = await resolvePlayers(deps.postgres.service, project, [...marked]);
    const are_themselves =
      players.player_ids.length === marked.size && players.player_ids.every((id) => marked.has(id));
    const isLeft = ({ segment_id }: SegmentToEvaluate) => !refused.has(segment_id);
    const asked = {
      players,
      are_themselves,
      is_counted: plan !== undefined && cut.part.some((entry) => isCounted(plan, entry)),
      concerned: candidates.concerned.filter(isLeft),
      every: candidates.every.filter(isLeft),
    };
    let verdict: KeptVerdict;
    try {
      verdict = await evaluatePlayers(deps, session, project, plan, asked, refuse);
    } catch (error) {
      if (!(error instanceof TooManyPlayers)) throw error;
      too_large = idsOf(cut.part).length;
      size = Math.ceil(too_large / 2);
      continue;
    }
    yield { verdict, player_ids: players.player_ids, remove: (tx) => removeCut(tx, project, cut) };
    if (!asked.every.every(isLeft)) {
      too_large = Number.POSITIVE_INFINITY;
      size = MAX_PLAYERS;
    } else if (2 * size < too_large) size *= 2;
    left = cut.left;
    parts++;
  }
}

/** The first players of some entries, and the others. An entry may be in both, with some of its players in each. */
interface Cut {
  part: readonly DirtyEntry[];
  left: readonly DirtyEntry[];
}

function cutAt(entries: readonly DirtyEntry[], size: number): Cut {
  const [part, left]: [DirtyEntry[], DirtyEntry[]] = [[], []];
  let room = size;
  for (const entry of entries) {
    const { player_ids } = entry;
    if (room > 0) part.push({ ...entry, player_ids: player_ids.slice(0, room) });
    if (room < player_ids.length) left.push({ ...entry, player_ids: player_ids.slice(Math.max(room, 0)) });
    room -= player_ids.length;
  }
  return { part, left };
}

async function removeCut(tx: Tx, project: ProjectRef, { part, left }: Cut): Promise<void> {
  const last = part.at(-1);
  const [first_left] = left;
  const shared = first_left?.entry_id === last?.entry_id ? first_left : undefined;
  const whole = part.map(({ entry_id }) => entry_id).filter((entry_id) => entry_id !== shared?.entry_id);
  await deleteDirtyPlayers(tx, project, whole);
  if (shared !== undefined) await keepDirtyPlayers(tx, project, shared);
}

function refsOf(project: ProjectRef, segments: readonly { segment_id: string }[]): SegmentRef[] {
  return segments.map(({ segment_id }) => ({ ...project, segment_id }));
}

const idsOf = (entries: readonly DirtyEntry[]) => entries.flatMap(({ player_ids }) => player_ids);

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

/** Quarantines a segment at once, so that the next evaluation skips it even if this one fails further on. */
async function quarantineNow(
  { postgres, logger, metrics }: EvaluationDeps,
  project: ProjectRef,
  { segment_id }: SegmentToEvaluate,
  reason: string,
  now: Date,
): Promise<void> {
  logger.warn({ segment_id, reason }, 'a segment could not be evaluated; it is quarantined');
  metrics.segmentEvaluationsRefused.inc();
  await quarantine(postgres.service, { ...project, segment_id }, reason.slice(0, 1_000), now);
}

/**
 * Queues players again for one segment. When very many wait already and no refresh of it is running (`is_free`: its lock
 * is shared), the segment is to be refreshed instead, which evaluates all players.
 */
async function defer(
  tx: Tx,
  ref: SegmentRef,
  { reads }: SegmentToEvaluate,
  player_ids: readonly string[],
  { now, is_free }: { now: Date; is_free: boolean },
): Promise<void> {
  if (is_free && (await countDeferred(tx, ref)) >= MAX_DEFERRED) {
    await deleteDeferred(tx, ref);
    await wantRefresh(tx, ref, now);
    return;
  }
  const { tenant_id, project_id, segment_id } = ref;
  const entries = dirtyPlayersOf({ tenant_id, project_id }, reads, player_ids);
  await insertDirtyPlayers(
    tx,
    entries.map((entry) => ({ ...entry, segment_id })),
    now,
  );
}

/**
 * Evaluates a segment that was quarantined, alone, for the players that wait for it. It holds the lock of the segment like
 * a refresh, so evaluations of the project's other segments go on meanwhile. Once it succeeds, the segment is evaluated
 * together with the others again. Returns false when the segment stays quarantined. Rejects when ClickHouse cannot be
 * asked.
 */
export async function evaluateQuarantined(deps: EvaluationDeps, ref: SegmentRef): Promise<boolean> {
  return deps.postgres.session(async (session) => {
    if (!(await tryLockMembership(session, ref))) return false;
    const now = new Date(deps.clock.now_ms());
    const segment = await selectQuarantinedSegment(deps.postgres.service, ref, now);
    if (segment === undefined) return false;
    if (segment.is_realtime) return evaluateAlone(deps, session, ref, segment, now);
    await session.begin(async (tx) => {
      await deleteDeferred(tx, ref);
      await endQuarantine(tx, ref);
    });
    return true;
  });
}

async function evaluateAlone(
  deps: EvaluationDeps,
  session: Session,
  ref: SegmentRef,
  segment: SegmentToEvaluate,
  now: Date,
): Promise<boolean> {
  const project = { tenant_id: ref.tenant_id, project_id: ref.project_id };
  const entries = boundPlayers(await readDeferred(deps.postgres.service, ref, MAX_ENTRIES));
  // From one player on: a segment that is still too expensive for one costs one query.
  const alone = { deps, session, plan: undefined, candidates: { concerned: [segment], every: [segment] } };
  for await (const { verdict, remove } of evaluateInParts(alone, project, entries, now, 1)) {
    if (verdict.matching.size === 0) return false;
    await writeVerdict(session, project, verdict, now, remove);
  }
  await session.begin((tx) => endQuarantine(tx, ref));
  return true;
}
