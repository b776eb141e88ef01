/** A player to which one of the given ids belongs. */
export interface NamedPlayer {
  player_id: string;
  external_id: string | null;
  deleted: boolean;
}

/** The players to which the given ids belong; absent: the id was not given, or belongs to no player yet. */
export interface Named {
  by_anonymous_id?: NamedPlayer;
  by_external_id?: NamedPlayer;
  by_player_id?: NamedPlayer;
}

/** The ids of an identify call; at least one is given. */
export interface GivenIds {
  anonymous_id?: string | undefined;
  external_id?: string | undefined;
  player_id?: string | undefined;
}

/** The changes that identify has to make. */
export interface Decision {
  /** The player that identify answers with; undefined: a new one is created. */
  target: NamedPlayer | undefined;
  /** The target has no external_id yet and gets the given one. */
  set_external_id: boolean;
  /** The anonymous_id belongs to no player yet and is linked to the target. */
  link_anonymous_id: boolean;
  /** Players without an external_id that are merged into the target. */
  merge: NamedPlayer[];
  /** Another of the given ids belongs to a player with a different external_id. */
  conflict: boolean;
}

/**
 * Decides which player the given ids mean: external_id takes precedence, then player_id, then anonymous_id. A player
 * without external_id to which another given id belongs is merged into the target. Two players with different
 * external_ids are never merged: they may share a device. A deleted player can be the answer, but is never changed.
 */
export function decide(given: GivenIds, named: Named): Decision {
  const target = choose(given, named);
  const others = [named.by_player_id, named.by_anonymous_id].filter(
    (player): player is NamedPlayer => player !== undefined && player.player_id !== target?.player_id,
  );
  const external_id = given.external_id ?? target?.external_id ?? null;
  const isChangeable = target?.deleted !== true;
  const merge = isChangeable ? others.filter((other) => other.external_id === null && !other.deleted) : [];
  const conflict =
    external_id !== null &&
    others.some((other) => other.external_id !== null && other.external_id !== external_id);
  return {
    target,
    set_external_id:
      target !== undefined &&
      !target.deleted &&
      target.external_id === null &&
      given.external_id !== undefined,
    link_anonymous_id:
      isChangeable && given.anonymous_id !== undefined && named.by_anonymous_id === undefined,
    merge: distinct(merge),
    conflict,
  };
}

/** The ids of a caller without a proof of the user that count, and the given ids that are left out. */
export interface Unproven {
  given: GivenIds;
  named: Named;
  ignored: ('anonymous_id' | 'player_id')[];
}

/**
 * Leaves out the ids that would bind something to a player who exists (docs/decisions/059-client-keys.md): a caller without a
 * proof finds a player, or creates one with ids that belong to nobody. No player who exists gets an id or is merged, so
 * nobody gets the address, the money or the exclusion of another player.
 */
export function withoutProof(given: GivenIds, named: Named): Unproven {
  const { by_external_id, by_player_id, by_anonymous_id } = named;
  const target = given.external_id === undefined ? (by_player_id ?? by_anonymous_id) : by_external_id;
  const isOf = (player: NamedPlayer | undefined) => player?.player_id === target?.player_id;
  const ignored: Unproven['ignored'] = [];
  if (given.player_id !== undefined && !isOf(by_player_id)) ignored.push('player_id');
  // Of nobody: only a player who is created now may get it.
  if (given.anonymous_id !== undefined && !isOf(by_anonymous_id)) ignored.push('anonymous_id');
  const keeps = (id: 'anonymous_id' | 'player_id') => !ignored.includes(id);
  return {
    given: {
      external_id: given.external_id,
      ...(keeps('player_id') ? { player_id: given.player_id } : {}),
      ...(keeps('anonymous_id') ? { anonymous_id: given.anonymous_id } : {}),
    },
    named: {
      ...(by_external_id === undefined ? {} : { by_external_id }),
      ...(by_player_id !== undefined && keeps('player_id') ? { by_player_id } : {}),
      ...(by_anonymous_id !== undefined && keeps('anonymous_id') ? { by_anonymous_id } : {}),
    },
    ignored,
  };
}

/** player_id and anonymous_id may belong to the same other player. */
function distinct(players: readonly NamedPlayer[]): NamedPlayer[] {
  return [...new Map(players.map((player) => [player.player_id, player])).values()];
}

function choose(given: GivenIds, named: Named): NamedPlayer | undefined {
  const { by_anonymous_id, by_external_id, by_player_id } = named;
  if (given.external_id !== undefined) {
    if (by_external_id !== undefined) return by_external_id;
    return [by_player_id, by_anonymous_id].find((player) => player?.external_id === null && !player.deleted);
  }
  // If just one of two players has an external_id, that one stays; otherwise the one of the player_id stays.
  if (
    by_player_id?.external_id === null &&
    by_anonymous_id !== undefined &&
    by_anonymous_id.external_id !== null &&
    !by_anonymous_id.deleted
  ) {
    return by_anonymous_id;
  }
  return by_player_id ?? by_anonymous_id;
}
