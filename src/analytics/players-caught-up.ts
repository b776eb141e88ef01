import { setTimeout as sleep } from 'node:timers/promises';
import { captureHighWatermark, type HighWatermark } from '../platform/event-log/high-watermark.ts';
import { OFFSET_STORES, type OffsetStore } from '../platform/event-log/position-queries.ts';
import type { Platform } from '../platform/platform.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { lagOf } from './caught-up.ts';
import { playersToCorrect } from './correction-queries.ts';

/** The sink lags a few hundred milliseconds, for which a request waits. */
const POLL_MS = 25;

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clock'>;

/** A player, by the keys under which the log has its events. */
export interface LoggedPlayer {
  /** Under which the caller asks. */
  asked_id: string;
  /** The keys of accepted events, by every id that one of the player may name. */
  accepted_keys: readonly string[];
  /** The keys of the fold's records of the player. */
  folded_keys: readonly string[];
  /** The ids that its events in ClickHouse may have. */
  event_player_ids: readonly string[];
}

/** Players whose events are to be passed in these partitions, of which `mark` has the ends. */
interface Waiting {
  mark: HighWatermark;
  players: { player: LoggedPlayer; partitions: ReadonlySet<number> }[];
}

/**
 * Waits until ClickHouse has every event of these players that was accepted before the call, and the corrections that follow
 * from these events; resolves with the `asked_id`s of the players of whom something is still missing after `wait_ms`. Each
 * player waits for the partitions of its
 * own ids alone, in which the events that others sent before must be handled, too. The fold, or the sink, may be stopped,
 * or far behind, in another one.
 */
export async function playersBehind(
  engines: Engines,
  project: ProjectRef,
  players: readonly LoggedPlayer[],
  wait_ms: number,
): Promise<Set<string>> {
  if (players.length === 0) return new Set();
  const { eventLog, clock } = engines;
  const deadline_ms = clock.now_ms() + wait_ms;
  const noted = (store: OffsetStore) =>
    captureHighWatermark({ eventLog, sql: engines.postgres.service }, store);
  const waitingFor = (
    mark: HighWatermark,
    of: readonly LoggedPlayer[],
    keysOf: (player: LoggedPlayer) => readonly string[],
  ): Waiting => ({
    mark,
    players: of.map((player) => {
      const partitions = keysOf(player).map((key) => eventLog.partitionOf(key, mark.ends.size));
      return { player, partitions: new Set(partitions) };
    }),
  });
  let to_fold = waitingFor(await noted(OFFSET_STORES.fold), players, ({ accepted_keys }) => accepted_keys);
  let to_sink: Waiting[] = [];
  let to_correct: readonly LoggedPlayer[] = [];
  for (;;) {
    const { left, passed } = await look(engines, OFFSET_STORES.fold, 'emitted', to_fold);
    to_fold = left;
    // The fold's records of these players are on the log by now.
    if (passed.length > 0) {
      to_sink.push(waitingFor(await noted(OFFSET_STORES.sink), passed, ({ folded_keys }) => folded_keys));
    }
    const looks = await Promise.all(to_sink.map((one) => look(engines, OFFSET_STORES.sink, 'applied', one)));
    to_sink = looks.flatMap((one) => (one.left.players.length > 0 ? [one.left] : []));
    to_correct = await uncorrected(engines, project, [...to_correct, ...looks.flatMap((one) => one.passed)]);
    const waiting = [to_fold, ...to_sink].flatMap((one) => one.players.map(({ player }) => player));
    const behind = [...waiting, ...to_correct].map(({ asked_id }) => asked_id);
    if (behind.length === 0 || clock.now_ms() >= deadline_ms) return new Set(behind);
    await sleep(POLL_MS);
  }
}

/** Those of the players with events that are still to be written anew. */
async function uncorrected(
  { postgres }: Engines,
  project: ProjectRef,
  players: readonly LoggedPlayer[],
): Promise<readonly LoggedPlayer[]> {
  if (players.length === 0) return players;
  const ids = players.flatMap(({ event_player_ids }) => event_player_ids);
  const rows = await postgres.readAsTenant(project.tenant_id, (tx) => playersToCorrect(tx, project, ids));
  const found = new Set(rows.map(({ player_id }) => player_id));
  return players.filter(({ event_player_ids }) => event_player_ids.some((id) => found.has(id)));
}

/** Which of the players a consumer has passed. */
async function look(
  engines: Engines,
  store: OffsetStore,
  goal: 'applied' | 'emitted',
  { mark, players }: Waiting,
): Promise<{ left: Waiting; passed: LoggedPlayer[] }> {
  if (players.length === 0) return { left: { mark, players }, passed: [] };
  const { records, reason } = await lagOf(engines, store, mark, goal);
  const isBehind = ({ partitions }: Waiting['players'][number]) =>
    reason !== undefined || [...partitions].some((partition) => records.has(partition));
  return {
    left: { mark, players: players.filter(isBehind) },
    passed: players.filter((one) => !isBehind(one)).map(({ player }) => player),
  };
}
