import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

const MAX_IDS = 200_000;
/** Only a safety net: an erasure is announced by NOTIFY. */
const FRESH_MS = 10 * 60_000;
/** A player is named by an id no later than this after it was read, also while Postgres does not answer. */
const MAX_STALE_MS = 15 * 60_000;

/** Reads the players of external_ids; those that have none are left out. */
export type FindPlayers = (
  project: ProjectRef,
  external_ids: readonly string[],
) => Promise<ReadonlyMap<string, string>>;

interface Known {
  player_id: string;
  read_at_ms: number;
  /** As many changes as the project had when the id was read. */
  changes: number;
}

interface Options {
  find: FindPlayers;
  clock: Clock;
  metrics: Pick<Metrics, 'staleAnswers'>;
}

/**
 * Players by their external_ids. An external_id stays with its player: merges keep the player that has one. Only an erasure
 * takes it away, and is announced. While Postgres does not answer, known players are used for 15 minutes.
 */
export class PlayerIds {
  readonly #options: Options;
  readonly #known = new BoundedCache<string, Known>({ max: MAX_IDS });
  /** project_id → how often its ids have changed; few projects erase anybody. */
  readonly #changes = new BoundedCache<string, number>({ max: MAX_IDS });
  #all_changes = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The player of an external_id; undefined when it is not known now. */
  get(project: ProjectRef, external_id: string): string | undefined {
    const known = this.#usable(project, external_id);
    return known !== undefined && this.#age(known) < FRESH_MS ? known.player_id : undefined;
  }

  /** Notes the player of an external_id, as it was read at the time. */
  set(project: ProjectRef, external_id: string, player_id: string, changes: number): void {
    const read_at_ms = this.#options.clock.now_ms();
    this.#known.set(keyOf(project, external_id), { player_id, read_at_ms, changes });
  }

  /** To be read before a player is, and given to {@link set}: what was read before a change is not used after it. */
  changesOf({ project_id }: ProjectRef): number {
    return this.#all_changes + (this.#changes.get(project_id) ?? 0);
  }

  /**
   * The players of external_ids; those that have none are left out. Rejects when Postgres does not answer and one of them is
   * not known.
   */
  async find(project: ProjectRef, external_ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const changes = this.changesOf(project);
    try {
      const found = await this.#options.find(project, external_ids);
      for (const [external_id, player_id] of found) this.set(project, external_id, player_id, changes);
      return found;
    } catch (error) {
      const last = new Map<string, string>();
      for (const external_id of external_ids) {
        const known = this.#usable(project, external_id);
        if (known === undefined || this.#age(known) >= MAX_STALE_MS) throw error;
        last.set(external_id, known.player_id);
      }
      this.#options.metrics.staleAnswers.inc({ cache: 'external_ids' }, external_ids.length);
      return last;
    }
  }

  /** Forgets the ids of a project. */
  forget(project_id: string): void {
    this.#changes.set(project_id, (this.#changes.get(project_id) ?? 0) + 1);
  }

  /** Forgets all ids: changes may have been missed. */
  forgetAll(): void {
    this.#all_changes += 1;
  }

  #usable(project: ProjectRef, external_id: string): Known | undefined {
    const known = this.#known.get(keyOf(project, external_id));
    return known?.changes === this.changesOf(project) ? known : undefined;
  }

  #age({ read_at_ms }: Known): number {
    return this.#options.clock.now_ms() - read_at_ms;
  }
}

function keyOf({ project_id }: ProjectRef, external_id: string): string {
  return `${project_id} ${external_id}`;
}
