/** A player that one of the given ids names. */
export interface NamedPlayer {
  player_id: string;
  external_id: string | null;
  deleted: boolean;
}

/** Whom the given ids name; absent: the id was not given, or names nobody yet. */
export interface Named {
  by_anonymous_id?: NamedPlayer;
  by_external_id?: NamedPlayer;
  by_player_id?: NamedPlayer;
}

/** The ids of an identify call; one at least is given. */
export interface GivenIds {
  anonymous_id?: string | undefined;
  external_id?: string | undefined;
  player_id?: string | undefined;
}

/** What identify has to do. */
export interface Decision {
  /** The player to answer with; undefined: a new one. */
  target: NamedPlayer | undefined;
  /** The target has no external_id yet and gets the given one. */
  set_external_id: boolean;
  /** The anonymous_id is new and becomes the target's. */
  link_anonymous_id: boolean;
  /** Players without an external_id that turned out to be the target. */
  merge: NamedPlayer[];
  /** Another of the given ids names a player with a different external_id. */
  conflict: boolean;
}

/**
 * Decides whom the given ids stand for: the external_id is the strongest name, then
 * player_id, then anonymous_id. A player without external_id that another id names is merged into the target; two with
 * different external_ids never are, whoever shared a device. Deleted players are answered with, and never changed.
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

/** player_id and anonymous_id may name the same other player. */
function distinct(players: readonly NamedPlayer[]): NamedPlayer[] {
  return [...new Map(players.map((player) => [player.player_id, player])).values()];
}

function choose(given: GivenIds, named: Named): NamedPlayer | undefined {
  const { by_anonymous_id, by_external_id, by_player_id } = named;
  if (given.external_id !== undefined) {
    if (by_external_id !== undefined) return by_external_id;
    return [by_player_id, by_anonymous_id].find((player) => player?.external_id === null && !player.deleted);
  }
  // Of two players the one with an external_id stays; of two without (or with), the one named by player_id.
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
