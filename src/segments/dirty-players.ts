import { headOf } from '../ingest/events/envelope.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { EVERYTHING, PROFILE, readOfEvent, readOfSegment } from './dependencies.ts';
import type { Membership } from './membership-queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { insertDirtyPlayers, selectRealtimeReads, type DirtyPlayers } from './dirty-player-queries.ts';

/** Players per queued entry. */
const MAX_PLAYERS = 1_000;

/** Entries of at most 1,000 players each, for any number of players. */
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
 * Marks the players of events that have landed in ClickHouse, for the realtime segments that read such events. Where
 * no segment follows, nothing but one question is asked. Repeating it does no harm.
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

/** A player whose row has landed in ClickHouse. */
interface LandedPlayer extends ProjectRef {
  player_id: string;
  /** Everything about it may count for a segment, not only its fields. */
  is_new_or_removed: boolean;
}

/** Marks players whose rows have landed in ClickHouse; returns the projects that have realtime segments. */
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

/** A player with what of it has changed. */
interface ChangedPlayer extends ProjectRef {
  player_id: string;
  reads: string;
}

/** Marks players of whom something has changed in ClickHouse. */
export async function markDirty(tx: Tx, changed: readonly ChangedPlayer[], now: Date): Promise<void> {
  await queue(tx, await selectRealtimeReads(tx), changed, now);
}

/** Marks the players who entered or left a segment, for the realtime segments that refer to it. */
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
