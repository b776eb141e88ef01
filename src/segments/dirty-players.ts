import { groupByEvent, playerOf, type PlayerEvent } from '../ingest/events/envelope.ts';
import { parseExact } from '../platform/exact-json.ts';
import { groupBy } from '../platform/group-by.ts';
import type { Db, Tx } from '../platform/postgres/port.ts';
import { retryConflicts } from '../platform/postgres/retry.ts';
import { EVERYTHING, PROFILE, readOfEvent, readOfSegment } from './dependencies.ts';
import type { Membership } from './membership-queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { insertDirtyPlayers, type DirtyPlayers } from './dirty-player-queries.ts';
import { addToEvaluated, changedByRows, type Changes } from './evaluated/changes.ts';
import {
  forgetEvaluated,
  selectRealtimeProjects,
  type RealtimeProject,
} from './evaluated/evaluated-queries.ts';
import type { Plan, PlannedTotal } from './evaluated/plan.ts';
import { planWith } from './evaluated/plans.ts';

/** Players per queued entry. */
const MAX_PLAYERS = 1_000;

/** Splits any number of players into entries of at most 1,000 each. */
export function dirtyPlayersOf(
  project: ProjectRef,
  reads: readonly string[],
  player_ids: readonly string[],
): DirtyPlayers[] {
  const entries: DirtyPlayers[] = [];
  for (let from = 0; from < player_ids.length; from += MAX_PLAYERS) {
    entries.push({ ...project, reads, player_ids: player_ids.slice(from, from + MAX_PLAYERS) });
  }
  return entries;
}

/**
 * Marks the players of events that are in ClickHouse now, for the realtime segments that read such events, unless the events
 * change none of their conditions. When there are no realtime segments, it costs one query. A repeat only causes another
 * evaluation.
 */
export async function markDirtyByEvents(sql: Db, lines: readonly string[], now: Date): Promise<void> {
  const groups = groupByEvent(lines.map((value) => ({ value })));
  const projects = new Set(groups.map(({ name }) => name.project_id));
  for (const project of await selectRealtimeProjects(sql, [...projects])) {
    const plan = await planWith(sql, project);
    const marked: ChangedPlayer[] = [];
    const counted: PlayerEvent[] = [];
    for (const { name, places } of groups) {
      const reads = readOfEvent(name.event);
      if (name.project_id !== project.project_id || !project.reads.includes(reads)) continue;
      const of_group = places.map((place) => lines[place] ?? '');
      if (!plan.counted.has(reads)) marked.push(...marksOf(project, reads, of_group.map(playerOf)));
      else for (const line of of_group) counted.push(readEvent(line, plan.by_event.get(name.event) ?? []));
    }
    const by_player = groupBy(counted, ({ player_id }) => player_id);
    const players = [...by_player.keys()].sort();
    for (let from = 0; from < players.length; from += MAX_PLAYERS) {
      const part = players.slice(from, from + MAX_PLAYERS);
      const events = new Map(part.map((id) => [id, by_player.get(id) ?? []]));
      await retryConflicts(() => sql.begin((tx) => markCounted(tx, project, plan, events, now)));
    }
    // Last: if a player is evaluated before its events are added, adding them removes its row.
    await queue(sql, [project], marked, now);
  }
}

/** A double may round amounts that are no safe integers, which are not counted; clauses compare all numbers exactly. */
function readEvent(line: string, totals: readonly PlannedTotal[]): PlayerEvent {
  const has_clauses = totals.some(({ total }) => total.set.where.length > 0);
  return (has_clauses ? parseExact(line) : JSON.parse(line)) as PlayerEvent;
}

async function markCounted(
  tx: Tx,
  project: RealtimeProject,
  plan: Plan,
  events: ReadonlyMap<string, readonly PlayerEvent[]>,
  now: Date,
): Promise<void> {
  const changes = await addToEvaluated(tx, project, plan, events, now.getTime());
  await markEvents(
    tx,
    project,
    changes,
    (player_id) => (events.get(player_id) ?? []).map(({ event }) => event),
    now,
  );
}

/** Marks the players with changes, for the events that caused them, or for all that `namesOf` gives where nothing is known. */
export async function markEvents(
  tx: Tx,
  project: ProjectRef,
  changes: Changes,
  namesOf: (player_id: string) => readonly string[],
  now: Date,
): Promise<void> {
  const marked = [...changes].flatMap(([player_id, changed]) =>
    [...(changed ?? new Set(namesOf(player_id)))].flatMap((event) =>
      marksOf(project, readOfEvent(event), [player_id]),
    ),
  );
  await insertDirtyPlayers(tx, entriesOf(marked), now);
}

/** A player whose current row is in ClickHouse. */
interface LandedPlayer extends ProjectRef {
  player_id: string;
  /** The row, as JSON. */
  line: string;
  /** True: the player is evaluated in every realtime segment; false: in those that read the player's fields. */
  is_new_or_removed: boolean;
}

/**
 * Marks players whose current rows are in ClickHouse, unless the rows change none of their conditions; returns the ids of the
 * projects that have realtime segments.
 */
export async function markDirtyByRows(
  tx: Tx,
  players: readonly LandedPlayer[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const by_project = groupBy(players, ({ project_id }) => project_id);
  const realtime = await selectRealtimeProjects(tx, [...by_project.keys()]);
  for (const project of realtime) {
    const landed = by_project.get(project.project_id) ?? [];
    const changed = landed.filter((one) => one.is_new_or_removed).map(({ player_id }) => player_id);
    const others = landed.filter((one) => !one.is_new_or_removed);
    const is_counted = (await planWith(tx, project)).counted.has(PROFILE);
    const dirty = is_counted
      ? await changedFields(tx, project, others, now)
      : others.map(({ player_id }) => player_id);
    // Rows of a plan that does not count fields say nothing of them.
    await forgetEvaluated(tx, project, is_counted ? [...changed, ...dirty] : changed);
    await queue(tx, [project], marksOf(project, EVERYTHING, changed), now);
    await queue(tx, [project], marksOf(project, PROFILE, dirty), now);
  }
  return new Set(realtime.map(({ project_id }) => project_id));
}

/** By parts: a mirror copies many players at once. */
async function changedFields(
  tx: Tx,
  project: RealtimeProject,
  players: readonly LandedPlayer[],
  now: Date,
): Promise<string[]> {
  const plan = await planWith(tx, project);
  const changed: string[] = [];
  for (let from = 0; from < players.length; from += MAX_PLAYERS) {
    const part = players.slice(from, from + MAX_PLAYERS);
    changed.push(...(await changedByRows(tx, project, plan, part, now.getTime())));
  }
  return changed;
}

function marksOf(
  { tenant_id, project_id }: ProjectRef,
  reads: string,
  player_ids: readonly string[],
): ChangedPlayer[] {
  return player_ids.map((player_id) => ({ tenant_id, project_id, player_id, reads }));
}

/** A player, and the read that has changed. */
interface ChangedPlayer extends ProjectRef {
  player_id: string;
  reads: string;
}

/** Marks players whose data in ClickHouse have changed, for the realtime segments that have the read. */
export async function markDirty(tx: Tx, changed: readonly ChangedPlayer[], now: Date): Promise<void> {
  const project_ids = [...new Set(changed.map(({ project_id }) => project_id))];
  await queue(tx, await selectRealtimeProjects(tx, project_ids), changed, now);
}

/** Marks the players that entered or left a segment, for the realtime segments that refer to it. */
export async function markDependentsDirty(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  changed: readonly Membership[],
  now: Date,
): Promise<void> {
  if (changed.length === 0) return;
  const players = changed.map(({ segment_id, player_id }) => {
    return { tenant_id, project_id, player_id, reads: readOfSegment(segment_id) };
  });
  await markDirty(tx, players, now);
}

/** Queues those changes that a realtime segment of the project reads. */
async function queue(
  tx: Tx,
  realtime: readonly (ProjectRef & { reads: string[] })[],
  changed: readonly ChangedPlayer[],
  now: Date,
): Promise<void> {
  const reads_of = new Map(realtime.map(({ project_id, reads }) => [project_id, new Set(reads)]));
  const read = changed.filter(({ project_id, reads }) => {
    const of_project = reads_of.get(project_id);
    return of_project !== undefined && (reads === EVERYTHING || of_project.has(reads));
  });
  await insertDirtyPlayers(tx, entriesOf(read), now);
}

/** The changes as one group of entries per project and read, with each player once. */
function entriesOf(changed: readonly ChangedPlayer[]): DirtyPlayers[] {
  return [...groupBy(changed, ({ project_id, reads }) => `${project_id} ${reads}`).values()].flatMap(
    (group) => {
      const [first] = group;
      const player_ids = [...new Set(group.map(({ player_id }) => player_id))];
      return first === undefined ? [] : dirtyPlayersOf(projectOf(first), [first.reads], player_ids);
    },
  );
}

const projectOf = ({ tenant_id, project_id }: ProjectRef): ProjectRef => ({ tenant_id, project_id });
