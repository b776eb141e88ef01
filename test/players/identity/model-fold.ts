import { decide } from '../../../src/ledger/fold/decide.ts';
import { replay } from '../../../src/ledger/fold/replay.ts';
import {
  type Decision,
  type Effects,
  type Emission,
  requestFor,
  type Snapshot,
  type SnapshotRequest,
} from '../../../src/ledger/fold/snapshot.ts';
import {
  type FoldEvent,
  playerIdentityKey,
  anonymousIdentityKey,
  referenceKey,
} from '../../../src/ledger/fold/fold-event.ts';
import { byLedgerKey, type LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { addSums } from './model-identify.ts';
import type { Steps, Transaction } from './read-committed.ts';
import { LOST_RACE, PROJECT_ID, TENANT_ID, type Process, type World } from './world.ts';

// A model of the fold of one partition: the same decisions, and one step per statement, in the order of
// src/ledger/fold.

const MAX_BATCH = 4;
const NO_EVENTS: Emission = { events: [], rejections: [] };
const BASE_CURRENCIES = new Map([[TENANT_ID, 'EUR']]);
const PROJECTS: Snapshot['projects'] = new Map([
  [PROJECT_ID, { tenant_id: TENANT_ID, base_currency: 'EUR', kyc_model: 'none' }],
]);

/** The memory of one process about its partition. */
interface Memory {
  position: bigint | undefined;
}

/** The consumer of one partition: applies, emits and commits one batch after the other. */
export function* consume(process: Process, partition: number): Steps {
  const { world } = process;
  const log = world.log[partition] ?? [];
  const memory: Memory = { position: undefined };
  for (let from = world.committedOffsets[partition] ?? 0; from < log.length || !world.isLogClosed;) {
    const batch = log.slice(from, from + 1 + world.dice.roll(MAX_BATCH));
    if (batch.length === 0) {
      yield;
      continue;
    }
    const emission = yield* foldBatch(process, memory, partition, batch);
    if (emission !== undefined) {
      yield;
      world.emitted.push(emission);
      yield;
      from += batch.length;
      world.committedOffsets[partition] = Math.max(world.committedOffsets[partition] ?? 0, from);
    }
  }
}

/** Tries until the batch is applied. */
function* foldBatch(
  process: Process,
  memory: Memory,
  partition: number,
  batch: FoldEvent[],
): Steps<Emission> {
  const { world } = process;
  for (;;) {
    memory.position ??= yield* readPosition(process, partition);
    const position = memory.position;
    const applied = position === undefined ? 0 : batch.findIndex((event) => event.record.offset >= position);
    const fresh_from = applied === -1 ? batch.length : applied;
    try {
      const replayed = yield* replayEvents(process, partition, batch.slice(0, fresh_from));
      const fresh = yield* applyEvents(process, memory, partition, batch.slice(fresh_from));
      return {
        events: [...replayed.events, ...fresh.events],
        rejections: [...replayed.rejections, ...fresh.rejections],
      };
    } catch (error) {
      memory.position = undefined;
      if (!process.isWriteConflict(error)) throw error;
      if (world.met.lost_races > 10_000) throw error;
    }
  }
}

function* readPosition(process: Process, partition: number): Steps<bigint | undefined> {
  return yield* process.begin(function* (tx) {
    yield* tx.statement();
    return process.world.positions.read(tx, String(partition));
  });
}

/** REPEATABLE READ: all reads use one snapshot. */
function* replayEvents(process: Process, partition: number, events: FoldEvent[]): Steps<Emission> {
  const { world } = process;
  if (events.length === 0 || world.faults.nothing_is_replayed === true) return NO_EVENTS;
  world.met.replays++;
  return yield* process.begin(function* (tx) {
    yield* tx.statement();
    const request = requestFor(events, BASE_CURRENCIES);
    const snapshot: Snapshot = {
      players: new Map([...readAnonymous(world, tx, request), ...readPlayers(world, tx, request)]),
      ledger: readLedger(world, tx, request),
      projects: PROJECTS,
      conversions: new Map(),
      event_ids: new Map(),
      sent_ids: new Map(),
      kyc: new Map(),
      erased: new Set(),
    };
    return replay(events, snapshot, partition);
  });
}

function* applyEvents(
  process: Process,
  memory: Memory,
  partition: number,
  events: FoldEvent[],
): Steps<Emission> {
  const { world } = process;
  const last = events.at(-1);
  if (last === undefined) return NO_EVENTS;
  const next = last.record.offset + 1n;
  const decision = yield* process.begin(
    function* (tx) {
      const snapshot = yield* readSnapshot(world, tx, requestFor(events, BASE_CURRENCIES));
      const known = new Set(snapshot.players.keys());
      const decided = decide(events, snapshot, { newId: () => world.newId(), partition });
      yield* writeEffects(world, tx, decided.effects, partition, memory.position, next);
      return { decided, known };
    },
    ({ decided, known }) => judgeConflicts(world, decided, events, known),
  );
  memory.position = next;
  return decision.decided.emission;
}

function* readSnapshot(world: World, tx: Transaction, request: SnapshotRequest): Steps<Snapshot> {
  yield* tx.statement();
  const anonymous = readAnonymous(world, tx, request);
  yield* tx.statement();
  const players = new Map([...anonymous, ...readPlayers(world, tx, request)]);
  yield* tx.statement();
  const ledger = readLedger(world, tx, request);
  // No event of the model has a dedupe_id, a name, another currency or KYC.
  const nothing = {
    conversions: new Map(),
    event_ids: new Map(),
    sent_ids: new Map(),
    kyc: new Map(),
    erased: new Set<string>(),
  };
  return { players, ledger, projects: PROJECTS, ...nothing };
}

function readAnonymous(world: World, tx: Transaction, { anonymous }: SnapshotRequest): Map<string, string> {
  const found = new Map<string, string>();
  for (const { id } of anonymous) {
    const player_id = world.identities.read(tx, id);
    if (player_id !== undefined) found.set(anonymousIdentityKey(PROJECT_ID, id), player_id);
  }
  return found;
}

function readPlayers(world: World, tx: Transaction, { players }: SnapshotRequest): Map<string, string> {
  const found = new Map<string, string>();
  for (const { id } of players) {
    const isThere = world.players.read(tx, id) !== undefined;
    const player_id = isThere ? id : world.merges.read(tx, id)?.into;
    if (player_id !== undefined) found.set(playerIdentityKey(PROJECT_ID, id), player_id);
  }
  return found;
}

function readLedger(
  world: World,
  tx: Transaction,
  { references }: SnapshotRequest,
): Map<string, LedgerRow[]> {
  const wanted = new Set(references.map(({ reference }) => reference));
  const found = new Map<string, LedgerRow[]>();
  for (const row of world.ledger.readAll(tx)) {
    if (!wanted.has(row.reference)) continue;
    const key = referenceKey(PROJECT_ID, row.reference);
    const into =
      world.faults.ledger_knows_no_aliases === true ? undefined : world.merges.read(tx, row.player_id)?.into;
    const list = found.get(key) ?? [];
    list.push({ ...row, player_id: into ?? row.player_id });
    found.set(key, list);
  }
  for (const list of found.values()) list.sort(byLedgerKey);
  return found;
}

/** The statements are pipelined: a conflict of one of them is detected only after all have run. */
function* writeEffects(
  world: World,
  tx: Transaction,
  effects: Effects,
  partition: number,
  read: bigint | undefined,
  next: bigint,
): Steps {
  let isLost = !(yield* movePosition(world, tx, String(partition), read, next));
  yield* insertPlayers(world, tx, effects);
  yield* changeStatuses(world, tx, effects);
  if (!(yield* addToTotals(world, tx, effects))) isLost = true;
  if (effects.ledger_rows.length > 0) yield* tx.writing();
  for (const row of effects.ledger_rows.toSorted(byLedgerKey)) {
    const key = (ordinal: number) => `${row.reference} ${ordinal}`;
    let { ordinal } = row;
    if (world.faults.ordinals_are_not_claimed === true)
      while (world.ledger.committedAt(key(ordinal)) !== undefined) ordinal++;
    yield* world.ledger.insert(tx, key(ordinal), { ...row, ordinal });
  }
  if (isLost) throw LOST_RACE;
}

function* movePosition(
  world: World,
  tx: Transaction,
  key: string,
  read: bigint | undefined,
  next: bigint,
): Steps<boolean> {
  yield* tx.writing();
  const { positions, faults } = world;
  if (read === undefined) return yield* positions.tryInsert(tx, key, next);
  const isHere = (at: bigint) => at === read || faults.positions_are_not_compared === true;
  return (yield* positions.update(tx, key, (at) => (isHere(at) ? next : undefined))) !== undefined;
}

function* insertPlayers(world: World, tx: Transaction, { new_players }: Effects): Steps {
  if (new_players.length === 0) return;
  const sorted = new_players.toSorted((a, b) => (a.anonymous_id < b.anonymous_id ? -1 : 1));
  yield* tx.writing();
  for (const { anonymous_id, player_id } of sorted)
    yield* world.identities.insert(tx, anonymous_id, player_id);
  yield* tx.writing();
  for (const { anonymous_id, player_id } of sorted) {
    yield* world.players.insert(tx, player_id, {
      external_id: null,
      anonymous_ids: [anonymous_id],
      self_excluded: false,
      deleted: false,
      status: 'active',
    });
  }
}

function* changeStatuses(world: World, tx: Transaction, { statuses }: Effects): Steps {
  if (statuses.length === 0) return;
  yield* tx.writing();
  const sorted = statuses.flatMap((round) => round.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1)));
  for (const { player_id, self_excluded } of sorted) {
    if (self_excluded?.value !== true) continue;
    yield* world.players.update(tx, player_id, (player) => {
      const isShown = ['active', 'conflict'].includes(player.status);
      return { ...player, self_excluded: true, status: isShown ? 'self_excluded' : player.status };
    });
  }
}

/** Returns false when a known player has no totals. */
function* addToTotals(world: World, tx: Transaction, { players, new_players }: Effects): Steps<boolean> {
  const { faults, totals } = world;
  const newIds = new Set(new_players.map((player) => player.player_id));
  const sorted = players
    .filter(
      (effect) =>
        effect.first_seen_at_ms !== null || hasSums(effect.sums) || faults.conflicts_rely_on_nobody !== true,
    )
    .toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  const added = sorted.filter(({ player_id }) => newIds.has(player_id));
  const known = sorted.filter(({ player_id }) => !newIds.has(player_id));
  if (added.length > 0) yield* tx.writing();
  for (const { player_id, sums } of added) yield* totals.insert(tx, player_id, sums);
  if (known.length > 0) yield* tx.writing();
  let updated = 0;
  for (const { player_id, sums } of known) {
    if ((yield* totals.update(tx, player_id, (before) => addSums(before, sums))) !== undefined) updated++;
  }
  return updated === known.length || faults.totals_of_merged_players_are_lost === true;
}

function hasSums(sums: Readonly<Record<string, bigint>>): boolean {
  return Object.values(sums).some((sum) => sum !== 0n);
}

/** Checks at the commit: an event refused as a conflict must not be a repetition of the same player's own event. */
function judgeConflicts(
  world: World,
  { emission }: Decision,
  events: readonly FoldEvent[],
  known: ReadonlySet<string>,
): void {
  if (emission.rejections.length === 0) return;
  const identities = world.identities.committed();
  const rows = [...world.ledger.committed().values()];
  for (const { record, reason } of emission.rejections) {
    if (reason !== 'CONFLICTING_DUPLICATE') {
      world.complaints.push(`an event was refused: ${reason}`);
      continue;
    }
    const event = events.find((one) => one.record === record);
    if (event?.claim === undefined || !known.has(event.identity.key)) continue;
    const { claim, identity } = event;
    const named = identity.kind === 'player' ? identity.id : identities.get(identity.id);
    const player_id = named === undefined ? undefined : world.survivorOf(named);
    const same = rows.find(
      (row) =>
        row.reference === claim.reference && row.event === claim.event && row.occurrence === claim.occurrence,
    );
    if (same !== undefined && world.survivorOf(same.player_id) === player_id)
      world.complaints.push(`${claim.event} ${claim.reference} was refused as a conflict with itself`);
  }
}
