import type { Tx } from '../platform/postgres/port.ts';
import { EVERYTHING, PROFILE, readOfEvent, readOfSegment } from './dependencies.ts';
import type { Membership } from './membership-queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { insertTouches, selectFollowed, type Touch } from './touch-queries.ts';

/** Players per queued touch. */
const MAX_PLAYERS = 1_000;

/** Touches of any number of players. */
export function touchesOf(
  project: ProjectRef,
  reads: readonly string[],
  player_ids: readonly string[],
): Touch[] {
  const touches: Touch[] = [];
  for (let from = 0; from < player_ids.length; from += MAX_PLAYERS) {
    touches.push({ ...project, reads, player_ids: player_ids.slice(from, from + MAX_PLAYERS) });
  }
  return touches;
}

/** The beginning of a line of `events`, as the fold writes it. */
const LINE =
  /^\{"tenant_id":"([0-9a-f-]{36})","project_id":"([0-9a-f-]{36})","event":("(?:[^"\\]|\\.)*"),"player_id":"([0-9a-f-]{36})"/;

/**
 * Queues the players of events that have landed in ClickHouse, for the realtime segments that read such events. Where
 * no segment follows, nothing but one question is asked. Repeating it does no harm.
 */
export async function touchByEvents(sql: Tx, lines: readonly string[], now: Date): Promise<void> {
  const followed = await selectFollowed(sql);
  if (followed.length === 0) return;
  const projects = new Set(followed.map(({ project_id }) => project_id));
  const changed = lines.flatMap((line) => {
    const [, tenant_id = '', project_id = '', event = '""', player_id = ''] = LINE.exec(line) ?? [];
    if (!projects.has(project_id)) return [];
    return [{ tenant_id, project_id, player_id, reads: readOfEvent(JSON.parse(event) as string) }];
  });
  await queue(sql, followed, changed, now);
}

/** A player whose row has landed in ClickHouse. */
interface LandedPlayer extends ProjectRef {
  player_id: string;
  /** Everything about it may count for a segment, not only its fields. */
  came_or_went: boolean;
}

/** Queues players whose rows have landed in ClickHouse; returns the projects that have realtime segments. */
export async function touchByPlayers(
  tx: Tx,
  players: readonly LandedPlayer[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const followed = await selectFollowed(tx);
  const changed = players.map(({ came_or_went, tenant_id, project_id, player_id }) => {
    return { tenant_id, project_id, player_id, reads: came_or_went ? EVERYTHING : PROFILE };
  });
  await queue(tx, followed, changed, now);
  return new Set(followed.map(({ project_id }) => project_id));
}

/** A player with what of it has changed. */
interface ChangedPlayer extends ProjectRef {
  player_id: string;
  reads: string;
}

/** Queues players of whom something has changed in ClickHouse. */
export async function touchEach(tx: Tx, changed: readonly ChangedPlayer[], now: Date): Promise<void> {
  await queue(tx, await selectFollowed(tx), changed, now);
}

/** Has realtime segments that refer to a segment look at who entered or left it. */
export async function touchReaders(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  changed: readonly Membership[],
  now: Date,
): Promise<void> {
  if (changed.length === 0) return;
  const players = changed.map(({ segment_id, player_id }) => {
    return { tenant_id, project_id, player_id, reads: readOfSegment(segment_id) };
  });
  await queue(tx, await selectFollowed(tx, { tenant_id, project_id }), players, now);
}

async function queue(
  tx: Tx,
  followed: readonly (ProjectRef & { reads: string[] })[],
  changed: readonly ChangedPlayer[],
  now: Date,
): Promise<void> {
  const reads_of = new Map(followed.map(({ project_id, reads }) => [project_id, new Set(reads)]));
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
  const touches = [...groups.values()].flatMap(({ project, reads, players }) =>
    touchesOf(project, [reads], [...players]),
  );
  await insertTouches(tx, touches, now);
}
