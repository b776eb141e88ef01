import { groupBy } from '../../../platform/group-by.ts';
import { playersBehind } from '../../../analytics/players-caught-up.ts';
import { lossesOf, loggedPlayersOf, type LostPlayer } from '../../../bonuses/grants/loss.ts';
import { withinTime } from '../../../platform/time-limit.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { RunningRow } from './run-row.ts';

/** Without the event log nobody waits: losses are as ClickHouse has them. */
export type LossDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'> &
  Partial<Pick<Platform, 'eventLog'>>;

/** How long it is waited for ClickHouse, once for all players. */
const SINK_WAIT_MS = 2_000;
/**
 * Players whose losses are looked up together: few at first, and twice as many after each look-up that was quick. Some have
 * a hundred thousand bets, and most look-ups cost the same for one player as for many.
 */
const FEWEST = 8;
const MOST = 64;
const QUICK_MS = 500;
/** The longest look-up. */
const QUESTION_MS = 5_000;
/**
 * How long further runs are asked about. The answers count only until the timers of the runs are due, which may have waited
 * for a place before; and other projects wait for that place.
 */
const QUESTIONS_MS = 3_000;

/** A run with the answers that it has. */
interface LossAsker {
  run: RunningRow;
  answers: Map<string, boolean | bigint>;
}

/** What a cashback asks: what the player of a run has lost. */
export interface LossQuestion<A extends LossAsker> {
  asker: A;
  node_id: string;
  template_id: string;
}

/**
 * What the cashbacks of runs of one project ask, in one call of `answerQuestions`. Who has been waited for is not waited
 * for again.
 */
export class Losses {
  readonly #deps: LossDeps;
  readonly #project: ProjectRef;
  /** By the id that the run has; null: there is no such player. */
  readonly #players = new Map<string, LostPlayer | 'behind' | null>();
  readonly #behind = new Set<string>();
  #until_ms: number | undefined;

  constructor(deps: LossDeps, project: ProjectRef) {
    this.#deps = deps;
    this.#project = project;
  }

  /** Whether the run has asked, and ClickHouse does not have all bets of its player. */
  isBehind({ run_id }: Pick<RunningRow, 'run_id'>): boolean {
    return this.#behind.has(run_id);
  }

  /**
   * Answers the runs; resolves with those that were answered. The others are behind, or there was no time for them. A run
   * that has the loss of one cashback gets that of the next, however long it takes: it would begin with the first again,
   * for ever. Rejects when a look-up fails or takes over five seconds.
   */
  async answer<A extends LossAsker>(asked: readonly LossQuestion<A>[]): Promise<A[]> {
    if (asked.length === 0) return [];
    await this.#settle(asked);
    this.#until_ms ??= performance.now() + QUESTIONS_MS;
    const answered: A[] = [];
    for (const of_template of groupBy(asked, ({ template_id }) => template_id).values()) {
      let size = FEWEST;
      for (let left = this.#askable(of_template); left.length > 0;) {
        const begun_ms = performance.now();
        const open = begun_ms < this.#until_ms ? left : left.filter(hasBegun);
        const some = open.slice(0, size);
        left = open.slice(size);
        await this.#ask(some);
        answered.push(...some.map(({ asker }) => asker));
        if (performance.now() - begun_ms < QUICK_MS) size = Math.min(size * 2, MOST);
      }
    }
    return answered;
  }

  /** Waits once for all players: for a few after the others, each wait would take as long as ClickHouse trails. */
  async #settle(asked: readonly LossQuestion<LossAsker>[]): Promise<void> {
    const { eventLog, ...deps } = this.#deps;
    const named = new Set(asked.map(({ asker }) => asker.run.player_id));
    const fresh = [...named].filter((player_id) => !this.#players.has(player_id));
    if (fresh.length === 0) return;
    const players = await loggedPlayersOf(deps, this.#project, fresh);
    const behind =
      eventLog === undefined
        ? undefined
        : await playersBehind({ ...deps, eventLog }, this.#project, players, SINK_WAIT_MS);
    for (const player_id of fresh) this.#players.set(player_id, null);
    for (const player of players) {
      this.#players.set(player.asked_id, behind?.has(player.asked_id) === true ? 'behind' : player);
    }
  }

  /** The questions without those of runs that are behind. */
  #askable<A extends LossAsker>(asked: readonly LossQuestion<A>[]): LossQuestion<A>[] {
    return asked.filter(({ asker: { run } }) => {
      const is_behind = this.#players.get(run.player_id) === 'behind';
      if (is_behind) this.#behind.add(run.run_id);
      return !is_behind;
    });
  }

  /** Answers questions about one template. */
  async #ask(asked: readonly LossQuestion<LossAsker>[]): Promise<void> {
    const [first] = asked;
    if (first === undefined) return;
    const players = new Map<string, LostPlayer>();
    const player_of = ({ asker }: LossQuestion<LossAsker>) => {
      const player = this.#players.get(asker.run.player_id);
      return player === null || player === 'behind' ? undefined : player;
    };
    // Several runs may be of one player.
    for (const player of asked.map(player_of)) {
      if (player !== undefined) players.set(player.player_id, player);
    }
    const looking = lossesOf(this.#deps, this.#project, first.template_id, [...players.values()]);
    const losses = await withinTime(QUESTION_MS, looking);
    for (const one of asked) {
      // None for a template that is not a cashback any more, and for a player who does not exist.
      one.asker.answers.set(one.node_id, losses?.get(player_of(one)?.player_id ?? '') ?? 0n);
    }
  }
}

/** Whether the run has the loss of another cashback on its way. */
function hasBegun({ asker }: LossQuestion<LossAsker>): boolean {
  return [...asker.answers.values()].some((answer) => typeof answer === 'bigint');
}
