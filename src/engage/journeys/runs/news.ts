import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedCache } from '../../../platform/bounded-cache.ts';
import {
  OFFSET_STORES,
  readPositions,
  type StoredPositions,
} from '../../../platform/event-log/position-queries.ts';
import type { Platform } from '../../../platform/platform.ts';
import {
  selectChainLength,
  selectDeferredPlayers,
  selectQueueEnds,
} from '../../../segments/passed-queries.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { mergedPartition } from './merge-queries.ts';
import { readMirroredChange, selectLastChange, type PlayerChange } from './news-queries.ts';
import { placeBehind, placeOfStart, type RunningRow } from './run-row.ts';

/** How long a group of runs waits; one that waits longer asks again when its timer is due. */
const WAIT_MS = 2_000;
const POLL_MS = 25;
/** Runs of which it is kept what they wait for, until they ask again. */
const MAX_NOTED = 20_000;
const NOTED_MS = 10 * 60_000;

/** A run whose branch asks for memberships of these segments, or for what ClickHouse has of the player. */
export interface NewsAsker {
  run: RunningRow;
  /** Which of the questions of the run it is. */
  key: string;
  segment_ids: readonly string[];
}

/** What a run waits for. It stays the same when the run asks again: otherwise it would wait for ever newer changes. */
interface Note {
  /** What player-mirror must have copied; undefined: the sink has not passed the event yet. */
  change: PlayerChange | undefined;
  /** Evaluations of the segments that must pass, one after the other; undefined: the mirror has not copied the change. */
  evaluations: number | undefined;
  /** The entry of the queue of dirty players that the present one must pass. */
  entry: bigint | undefined;
}

/**
 * Waits until what runs ask includes the event that started or woke them, as the deciding of triggered campaigns does: the
 * sink has passed the event and player-mirror what it changed of the player, and the evaluations of the asked segments have
 * passed what both have marked. Otherwise a branch would see the player as before the event.
 */
export class News {
  readonly #deps: Pick<Platform, 'postgres'>;
  readonly #notes = new BoundedCache<string, Note>({ max: MAX_NOTED, ttl: NOTED_MS });

  constructor(deps: Pick<Platform, 'postgres'>) {
    this.#deps = deps;
  }

  /** Resolves with those of these runs of one project that have to wait longer, at most after two seconds. */
  async behind(project: ProjectRef, asking: readonly NewsAsker[]): Promise<ReadonlySet<NewsAsker>> {
    const deadline_ms = performance.now() + WAIT_MS;
    let open = asking.filter(({ run }) => placeOf(run) !== undefined);
    for (;;) {
      open = await this.#look(project, open);
      if (open.length === 0 || performance.now() >= deadline_ms) return new Set(open);
      await sleep(POLL_MS);
    }
  }

  /** Notes how far each of the runs is; returns those that have to wait. */
  async #look(project: ProjectRef, asking: readonly NewsAsker[]): Promise<NewsAsker[]> {
    if (asking.length === 0) return [];
    const of_run = new Map(asking.map((one) => [one, this.#noteOf(one)]));
    const those = (wanted: (note: Note, one: NewsAsker) => boolean) =>
      [...of_run].flatMap(([one, note]) => (wanted(note, one) ? [one] : []));
    await this.#passSink(project, of_run);
    await this.#passMirror(project, of_run);
    await this.#passEvaluations(project, of_run);
    const evaluated = those(({ evaluations }) => evaluations === 0);
    const deferred = await this.#deferred(project, evaluated);
    for (const one of evaluated) if (!deferred.has(one)) this.#notes.delete(keyOf(one));
    return those(({ evaluations }, one) => evaluations !== 0 || deferred.has(one));
  }

  #noteOf(one: NewsAsker): Note {
    const known = this.#notes.get(keyOf(one));
    if (known !== undefined) return known;
    const note: Note = { change: undefined, evaluations: undefined, entry: undefined };
    this.#notes.set(keyOf(one), note);
    return note;
  }

  /** For runs whose event the sink has passed: notes the last change of their players until now. */
  async #passSink(project: ProjectRef, of_run: ReadonlyMap<NewsAsker, Note>): Promise<void> {
    const { service } = this.#deps.postgres;
    const open = [...of_run].filter(([, { change }]) => change === undefined);
    if (open.length === 0) return;
    const positions = await readPositions(service, OFFSET_STORES.sink);
    const passed = open.filter(([{ run }]) => hasPassed(positions, placeOf(run)));
    if (passed.length === 0) return;
    const player_ids = [...new Set(passed.map(([{ run }]) => run.player_id))];
    const last = await selectLastChange(service, project, player_ids);
    for (const [{ run }, note] of passed) note.change = last ?? { changed_xid: 0n, player_id: run.player_id };
  }

  /** For runs whose change player-mirror has copied: notes how many evaluations must pass. */
  async #passMirror(project: ProjectRef, of_run: ReadonlyMap<NewsAsker, Note>): Promise<void> {
    const { service } = this.#deps.postgres;
    const open = [...of_run].filter(
      ([, { change, evaluations }]) => change !== undefined && evaluations === undefined,
    );
    if (open.length === 0) return;
    const mirrored = await readMirroredChange(service);
    const lengths = new Map<string, number>();
    for (const [{ segment_ids }, note] of open) {
      if (mirrored === undefined || note.change === undefined || isAfter(note.change, mirrored)) continue;
      const asked = segment_ids.join(' ');
      const length =
        lengths.get(asked) ??
        (segment_ids.length === 0 ? 0 : await selectChainLength(service, project, segment_ids));
      lengths.set(asked, length);
      note.evaluations = length;
    }
  }

  /** Counts evaluations down: entries are evaluated in their order, those of one player one after the other. */
  async #passEvaluations(project: ProjectRef, of_run: ReadonlyMap<NewsAsker, Note>): Promise<void> {
    const open = [...of_run.values()].filter(({ evaluations = 0 }) => evaluations > 0);
    if (open.length === 0) return;
    const { oldest, newest } = await selectQueueEnds(this.#deps.postgres.service, project);
    for (const note of open) {
      // What was evaluated may have marked the player again, for the segments that refer to the changed one.
      if (note.entry !== undefined && (oldest === undefined || oldest > note.entry)) {
        note.evaluations = (note.evaluations ?? 0) - 1;
        note.entry = undefined;
      }
      if (newest === undefined) note.evaluations = 0;
      else note.entry ??= newest;
    }
  }

  async #deferred(project: ProjectRef, evaluated: readonly NewsAsker[]): Promise<ReadonlySet<NewsAsker>> {
    const pairs = evaluated.flatMap(({ run, segment_ids }) =>
      segment_ids.map((segment_id) => ({ segment_id, player_id: run.player_id })),
    );
    if (pairs.length === 0) return new Set();
    const found = await selectDeferredPlayers(this.#deps.postgres.service, project, pairs);
    const waiting = new Set(found.map(({ segment_id, player_id }) => `${segment_id} ${player_id}`));
    return new Set(
      evaluated.filter(({ run, segment_ids }) =>
        segment_ids.some((segment_id) => waiting.has(`${segment_id} ${run.player_id}`)),
      ),
    );
  }
}

/** With the player: what was noted of one who was merged away says nothing of the survivor. */
function keyOf({ run, key }: NewsAsker): string {
  return `${run.run_id} ${run.player_id} ${run.version} ${run.seq} ${key}`;
}

/** Where on the log the event ends that woke the run, or else started it; undefined: it knows no place. */
function placeOf(run: RunningRow) {
  return placeBehind(run) ?? placeOfStart(run);
}

/** Positions in another log than the run's can never pass its event: nothing is known of that log any more. */
function hasPassed(
  { log_id, next_offsets, refusals }: StoredPositions,
  place: ReturnType<typeof placeOf>,
): boolean {
  if (place === undefined || (log_id !== undefined && log_id !== place.log_id)) return true;
  if (log_id === undefined || refusals.has(log_id)) return false;
  const partition = place.partition < 0 ? mergedPartition(place.partition) : place.partition;
  return (next_offsets.get(partition) ?? 0n) >= place.from_offset;
}

function isAfter(one: PlayerChange, other: PlayerChange): boolean {
  return (
    one.changed_xid > other.changed_xid ||
    (one.changed_xid === other.changed_xid && one.player_id > other.player_id)
  );
}
