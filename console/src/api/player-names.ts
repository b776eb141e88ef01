import type { PlayerName } from '@player-engagement/client/admin';
import { useQuery } from '@tanstack/react-query';
import { ask } from './client.ts';
import { usePlace } from './place.tsx';
import type { Place } from './session.ts';

/** Rows that come into view within this time are asked about at once. */
const GATHER_MS = 10;
/** The most ids of one question. */
const MOST = 100;
const KEPT_MS = 60_000;

interface Batch {
  ids: Set<string>;
  names: Promise<ReadonlyMap<string, PlayerName>>;
}

/** The batch of each project that still takes ids. */
const gathering = new Map<string, Batch>();

/** What the player is called by; null: there is no such player. Asked together with the others of the page. */
async function nameOf(place: Place, id: string): Promise<PlayerName | null> {
  const { project_id } = place;
  let batch = gathering.get(project_id);
  if (batch === undefined || batch.ids.size >= MOST) {
    const ids = new Set<string>();
    batch = { ids, names: namesOf(place, ids) };
    gathering.set(project_id, batch);
  }
  batch.ids.add(id);
  return (await batch.names).get(id) ?? null;
}

async function namesOf(place: Place, ids: ReadonlySet<string>): Promise<ReadonlyMap<string, PlayerName>> {
  await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
  if (gathering.get(place.project_id)?.ids === ids) gathering.delete(place.project_id);
  const { data } = await ask('players.names', [{ ids: [...ids].join(',') }], { project: place });
  return new Map(data.map((name) => [name.player_id, name]));
}

/** What a player is called by, as lists show it; undefined while it is not known, and of nobody. */
export function useNameOfPlayer(id: string | undefined): PlayerName | undefined {
  const place = usePlace();
  const asked = useQuery({
    queryKey: [place.project_id, 'player name', id],
    queryFn: () => nameOf(place, id ?? ''),
    enabled: id !== undefined,
    staleTime: KEPT_MS,
  });
  return asked.data ?? undefined;
}
