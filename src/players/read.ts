import { ApiError } from '../errors.ts';
import { isUuid } from '../platform/ids.ts';
import type { Postgres } from '../platform/postgres/port.ts';
import { selectPlayerId, type PlayerRef } from './queries.ts';

/** Rejects with PLAYER_NOT_FOUND unless the project has this player, deleted or not. */
export async function requirePlayer(postgres: Postgres, ref: PlayerRef): Promise<void> {
  requireUuid(ref);
  const found = await postgres.readAsTenant(ref.tenant_id, (tx) => selectPlayerId(tx, ref));
  if (found.length === 0) throw playerNotFound(ref.player_id);
}

/** PLAYER_NOT_FOUND; the message names the id (spec part 7). */
export function playerNotFound(player_id: string): ApiError {
  return new ApiError('PLAYER_NOT_FOUND', `player ${player_id.slice(0, 64)} does not exist`);
}

/** An id that is no UUID is no player's. */
export function requireUuid({ player_id }: Pick<PlayerRef, 'player_id'>): void {
  if (!isUuid(player_id)) throw playerNotFound(player_id);
}
