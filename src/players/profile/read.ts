import { ApiError } from '../../errors.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { PlayerRef } from '../player-ref.ts';
import { selectPlayerIds, selectSurvivor } from './queries.ts';

/** A player, and the ids that its events in ClickHouse may have: its own and those of players merged into it lately. */
export interface PlayerIds {
  player_id: string;
  event_player_ids: string[];
}

/** The player of this id or, after a merge, its survivor, deleted or not. Rejects with PLAYER_NOT_FOUND. */
export async function requirePlayer(postgres: Postgres, ref: PlayerRef): Promise<PlayerIds> {
  requireUuid(ref);
  const [found] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectPlayerIds(tx, ref));
  if (found === undefined) throw playerNotFound(ref.player_id);
  return { player_id: found.player_id, event_player_ids: [found.player_id, ...found.former_ids] };
}

/**
 * The filters of a list; a `player_id` of a merged player becomes the id of the survivor. An id that no player has
 * stays as it is, and the list is empty.
 */
export async function withListedPlayer<T extends { player_id?: string | undefined }>(
  postgres: Postgres,
  { tenant_id, project_id }: ProjectRef,
  filters: T,
): Promise<T> {
  const { player_id } = filters;
  if (player_id === undefined) return filters;
  const ref = { tenant_id, project_id, player_id };
  const [found] = await postgres.readAsTenant(tenant_id, (tx) => selectSurvivor(tx, ref));
  return found === undefined ? filters : { ...filters, player_id: found.player_id };
}

/**
 * Runs `act` with the given id and returns its result; `act` resolves to undefined when there is no such player. Then
 * the id may belong to a merged player: its survivor is looked up and `act` runs again, repeatedly if that player is
 * merged in the meantime. Rejects with PLAYER_NOT_FOUND.
 */
export async function withSurvivor<T>(
  postgres: Postgres,
  ref: PlayerRef,
  act: (ref: PlayerRef) => Promise<T | undefined>,
): Promise<T> {
  requireUuid(ref);
  for (let one = ref; ;) {
    const found = await act(one);
    if (found !== undefined) return found;
    const named = one;
    const [survivor] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectSurvivor(tx, named));
    if (survivor === undefined) throw playerNotFound(ref.player_id);
    one = { ...ref, ...survivor };
  }
}

/** PLAYER_NOT_FOUND; the message names the id (spec part 7). */
export function playerNotFound(player_id: string): ApiError {
  return new ApiError('PLAYER_NOT_FOUND', `player ${player_id.slice(0, 64)} does not exist`);
}

/** Throws PLAYER_NOT_FOUND for an id that is not a UUID. */
export function requireUuid({ player_id }: Pick<PlayerRef, 'player_id'>): void {
  if (!isUuid(player_id)) throw playerNotFound(player_id);
}
