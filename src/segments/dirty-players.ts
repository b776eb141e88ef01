import { headOf } from '../ingest/events/envelope.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { EVERYTHING, PROFILE, readOfEvent, readOfSegment } from './dependencies.ts';
import type { Membership } from './membership-queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { insertDirtyPlayers, selectRealtimeReads, type DirtyPlayers } from './dirty-player-queries.ts';

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
 * Marks the players of events that are in ClickHouse now, for the realtime segments that read such events. When there
 * are no realtime segments, it costs one query. A repeat only causes another evaluation.
 */
export async function markDirtyByEvents(sql: Tx, lines: readonly string[], now: Date): Promise<void> {
  const realtime = await selectRealtimeReads(sql);
  if (realtime.length === 0) return;
  const projects = new Set(realtime.map(({ project_id }) => project_id));
  const changed = lines.flatMap((line) => {
    const head = headOf(line);
    if (head === undefined || !projects.has(head.project_id)) return [];
    return [{ ...head, reads: readOfEvent(head.event) }];
  });
  await queue(sql, realtime, changed, now);
}

/** A player whose current row is in ClickHouse. */
interface LandedPlayer extends ProjectRef {
  player_id: string;
  /** True: the player is evaluated in every realtime segment; false: in those that read the player's fields. */
  is_new_or_removed: boolean;
}

/** Marks players whose current rows are in ClickHouse; returns the ids of the projects that have realtime segments. */
export async function markDirtyByRows(
  tx: Tx,
  players: readonly LandedPlayer[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const realtime = await selectRealtimeReads(tx);
  const changed = players.map(({ is_new_or_removed, tenant_id, project_id, player_id }) => {
    return { tenant_id, project_id, player_id, reads: is_new_or_removed ? EVERYTHING : PROFILE };
  });
  await queue(tx, realtime, changed, now);
  return new Set(realtime.map(({ project_id }) => project_id));
}

/** A player, and the read that has changed. */
interface ChangedPlayer extends ProjectRef {
  player_id: string;
  reads: string;
}

/** Marks players whose data in ClickHouse have changed, for the realtime segments that have the read. */
export async function markDirty(tx: Tx, changed: readonly ChangedPlayer[], now: Date): Promise<void> {
  await queue(tx, await selectRealtimeReads(tx), changed, now);
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
  await queue(tx, await selectRealtimeReads(tx, { tenant_id, project_id }), players, now);
}

/** Queues those changes that a realtime segment of the project reads, as one group of entries per project and read. */
async function queue(
  tx: Tx,
  realtime: readonly (ProjectRef & { reads: string[] })[],
  changed: readonly ChangedPlayer[],
  now: Date,
): Promise<void> {
  const reads_of = new Map(realtime.map(({ project_id, reads }) => [project_id, new Set(reads)]));
  const groups = new Map<string, { project: ProjectRef; reads: string; players: Set<string> }>();
  for (const { tenant_id, project_id, player_id, reads } of changed) {
    const of_project = reads_of.get(project_id);
    if (of_project === undefined || (reads !== EVERYTHING && !of_project.has(reads))) continue;
    const key = `${project_id} ${reads}`;
    const group = groups.get(key) ?? {
      project: { tenant_id, project_id },
      reads,
      players: new Set<string>(),
    };
    group.players.add(player_id);
    groups.set(key, group);
  }
  const entries = [...groups.values()].flatMap(({ project, reads, players }) =>
    dirtyPlayersOf(project, [reads], [...players]),
  );
  await insertDirtyPlayers(tx, entries, now);
}
