import { decide, type GivenIds, type Named, type NamedPlayer } from '../../../src/players/identity/decide.ts';
import type { Steps, Transaction } from './read-committed.ts';
import { SUMS } from '../../../src/ledger/money/totals.ts';
import type { Sums } from './outcome.ts';
import { LOST_RACE, type Player, type Process, type World } from './world.ts';

// A model of `identify`: the same decision, and one step per statement, in the order of src/players/identity. Pipelined
// statements all run, whatever the earlier ones find; their results are checked at the end.

const ATTEMPTS = 8;
const NO_SUMS = Object.fromEntries(SUMS.map((sum) => [sum, 0n])) as Sums;

/** One call of identify. Its answer is known to callers from then on. */
export function* identify(process: Process, given: GivenIds): Steps {
  const { world } = process;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      const answer = yield* process.begin((tx) => identifyOnce(world, tx, given));
      world.answers.push({ anonymous_id: given.anonymous_id, ...answer });
      world.met.merges += answer.merged;
      if (answer.conflict) world.met.conflicts++;
      return;
    } catch (error) {
      if (!process.isWriteConflict(error)) throw error;
    }
  }
}

function* identifyOnce(
  world: World,
  tx: Transaction,
  given: GivenIds,
): Steps<{ player_id: string; conflict: boolean; merged: number }> {
  yield* tx.statement();
  const named = findNamed(world, tx, given);
  const decision = decide(given, named);
  const { target, merge, conflict } = decision;
  const link = decision.link_anonymous_id ? given.anonymous_id : undefined;
  const player_id = target?.player_id ?? world.newId();
  const answer = { player_id, conflict, merged: merge.length };
  if (target === undefined) {
    const status = conflict ? 'conflict' : 'active';
    if (!(yield* insertPlayer(world, tx, player_id, given.external_id ?? null, link, status)))
      throw LOST_RACE;
    return answer;
  }
  if (link === undefined && merge.length === 0 && !conflict && !decision.set_external_id) return answer;
  for (const source of merge) yield* mergePlayer(world, tx, source.player_id, player_id);
  const won = link === undefined || (yield* linkAnonymousId(world, tx, player_id, link));
  yield* tx.writing();
  const locked = yield* world.players.lock(tx, player_id);
  if (conflict) {
    yield* tx.writing();
    yield* world.players.update(tx, player_id, (player) =>
      player.status === 'active' && !player.deleted ? { ...player, status: 'conflict' } : undefined,
    );
  }
  if (decision.set_external_id) yield* setExternalId(world, tx, player_id, given.external_id ?? '');
  if (!won && world.faults.links_are_not_checked !== true) throw LOST_RACE;
  if (locked?.external_id !== target.external_id) throw LOST_RACE;
  if (locked.deleted !== target.deleted && world.faults.deletions_are_not_noticed !== true) throw LOST_RACE;
  return answer;
}

function findNamed(world: World, tx: Transaction, given: GivenIds): Named {
  const { anonymous_id, external_id, player_id } = given;
  const ids = {
    by_anonymous_id: anonymous_id === undefined ? undefined : world.identities.read(tx, anonymous_id),
    by_external_id: external_id === undefined ? undefined : world.externals.read(tx, external_id),
    by_player_id: player_id === undefined ? undefined : (world.merges.read(tx, player_id)?.into ?? player_id),
  };
  const named: Named = {};
  for (const name of ['by_anonymous_id', 'by_external_id', 'by_player_id'] as const) {
    const id = ids[name];
    const player = id === undefined ? undefined : world.players.read(tx, id);
    if (id !== undefined && player !== undefined) named[name] = toNamed(id, player);
  }
  return named;
}

function toNamed(player_id: string, { external_id, deleted }: Player): NamedPlayer {
  return { player_id, external_id, deleted };
}

/** One statement: inserts the identity, then the player, then its totals; stops where an insert is not possible. */
function* insertPlayer(
  world: World,
  tx: Transaction,
  player_id: string,
  external_id: string | null,
  anonymous_id: string | undefined,
  status: string,
): Steps<boolean> {
  yield* tx.writing();
  if (anonymous_id !== undefined && !(yield* world.identities.tryInsert(tx, anonymous_id, player_id)))
    return false;
  if (external_id !== null && !(yield* world.externals.tryInsert(tx, external_id, player_id))) return false;
  const anonymous_ids = anonymous_id === undefined ? [] : [anonymous_id];
  yield* world.players.insert(tx, player_id, {
    external_id,
    anonymous_ids,
    status,
    self_excluded: false,
    deleted: false,
  });
  yield* world.totals.insert(tx, player_id, NO_SUMS);
  return true;
}

/** One statement: inserts the identity, then extends the player's list, then marks the totals for the mirror. */
function* linkAnonymousId(
  world: World,
  tx: Transaction,
  player_id: string,
  anonymous_id: string,
): Steps<boolean> {
  yield* tx.writing();
  if (!(yield* world.identities.tryInsert(tx, anonymous_id, player_id))) return false;
  const listed = yield* world.players.update(tx, player_id, (player) => ({
    ...player,
    anonymous_ids: [...player.anonymous_ids, anonymous_id],
  }));
  if (listed === undefined) return false;
  return (yield* world.totals.update(tx, player_id, (sums) => sums)) !== undefined;
}

function* setExternalId(world: World, tx: Transaction, player_id: string, external_id: string): Steps {
  yield* tx.writing();
  const changed = yield* world.players.update(tx, player_id, (player) =>
    player.deleted ? undefined : { ...player, external_id },
  );
  if (changed === undefined) return;
  yield* world.externals.insert(tx, external_id, player_id);
  yield* world.totals.update(tx, player_id, (sums) => sums);
}

function* mergePlayer(world: World, tx: Transaction, source: string, into: string): Steps {
  const { faults } = world;
  if (faults.identities_move_before_locks === true) yield* moveIdentities(world, tx, source, into);
  const stale =
    faults.totals_are_read_before_locks === true ? yield* readTotals(world, tx, source) : undefined;
  const pair = source < into ? [source, into] : [into, source];
  yield* tx.writing();
  const players = new Map<string, Player>();
  for (const id of pair) {
    const player = yield* world.players.lock(tx, id);
    if (player !== undefined) players.set(id, player);
  }
  yield* tx.writing();
  let locked = 0;
  for (const id of pair) if ((yield* world.totals.lock(tx, id)) !== undefined) locked++;
  if (faults.identities_move_before_locks !== true) yield* moveIdentities(world, tx, source, into);
  yield* mergeProfile(world, tx, source, into);
  yield* mergeTotals(world, tx, source, into, stale);
  yield* leaveAlias(world, tx, source, into);
  const isSound = players.size === 2 && players.get(source)?.external_id === null && isAlive(players);
  if ((!isSound || locked !== 2) && faults.merges_look_at_nobody !== true) throw LOST_RACE;
}

function isAlive(players: ReadonlyMap<string, Player>): boolean {
  return [...players.values()].every((player) => !player.deleted);
}

function* readTotals(world: World, tx: Transaction, player_id: string): Steps<Sums | undefined> {
  yield* tx.statement();
  return world.totals.read(tx, player_id);
}

function* moveIdentities(world: World, tx: Transaction, source: string, into: string): Steps {
  yield* tx.writing();
  for (const anonymous_id of world.players.read(tx, source)?.anonymous_ids ?? []) {
    yield* world.identities.update(tx, anonymous_id, () => into);
  }
}

function* mergeProfile(world: World, tx: Transaction, source: string, into: string): Steps {
  yield* tx.writing();
  const gone = yield* world.players.delete(tx, source);
  if (gone === undefined) return;
  yield* world.players.update(tx, into, (player) => {
    const self_excluded = player.self_excluded || gone.self_excluded;
    const isReviewed = [player.status, gone.status].includes('conflict');
    return {
      ...player,
      anonymous_ids: [...player.anonymous_ids, ...gone.anonymous_ids],
      self_excluded,
      status: self_excluded ? 'self_excluded' : isReviewed ? 'conflict' : player.status,
    };
  });
}

function* mergeTotals(world: World, tx: Transaction, source: string, into: string, stale?: Sums): Steps {
  yield* tx.writing();
  const gone = yield* world.totals.delete(tx, source);
  if (gone === undefined) return;
  yield* world.totals.update(tx, into, (sums) => addSums(sums, stale ?? gone));
}

function* leaveAlias(world: World, tx: Transaction, source: string, into: string): Steps {
  yield* tx.writing();
  if (world.faults.aliases_stay_chained !== true) {
    for (const { player_id, into: before } of world.merges.readAll(tx)) {
      if (before !== source) continue;
      yield* world.merges.update(tx, player_id, (merge) =>
        merge.into === source ? { player_id, into } : undefined,
      );
    }
  }
  yield* world.merges.insert(tx, source, { player_id: source, into });
}

export function addSums(a: Sums, b: Sums): Sums {
  return Object.fromEntries(SUMS.map((sum) => [sum, a[sum] + b[sum]])) as Sums;
}

/** `DELETE /v1/players/:id`: one statement. */
export function* softDelete(process: Process, player_id: string): Steps {
  const { world } = process;
  try {
    yield* process.begin(
      function* (tx) {
        yield* tx.writing();
        const deleted = yield* world.players.update(tx, player_id, (player) =>
          player.deleted ? undefined : { ...player, deleted: true, status: 'deleted' },
        );
        if (deleted !== undefined) yield* world.totals.update(tx, player_id, (sums) => sums);
        return deleted;
      },
      (deleted) => {
        if (deleted !== undefined) world.deleted.set(player_id, deleted);
      },
    );
  } catch (error) {
    if (!process.isWriteConflict(error)) throw error;
  }
}
