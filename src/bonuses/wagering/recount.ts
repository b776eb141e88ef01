import { waitUntilInClickHouse, NotCaughtUp } from '../../analytics/caught-up.ts';
import { MAX_AHEAD_MS } from '../../platform/timestamp.ts';
import { BackOff } from '../../platform/back-off.ts';
import { NIL_ID } from '../../platform/ids.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { recountBets } from './count.ts';
import type { BetName } from './count-queries.ts';
import { addBet, countIsolated, isolated, type CountDeps, type NamedBet } from './from-log.ts';
import { groupBy } from '../../platform/group-by.ts';
import { selectBetEvents, selectBettors, type EventPosition } from './recorded-bets-queries.ts';
import {
  markCounted,
  markRecorded,
  selectBetsSince,
  selectDue,
  selectStrays,
  selectToLookUp,
  selectWithoutRate,
  type BetKey,
  type BetPosition,
  type DueGrant,
  type GrantToLookUp,
} from './recount-queries.ts';

/** The parts of the platform that recounting uses. */
export type RecountDeps = CountDeps & Pick<Platform, 'clickhouse' | 'eventLog'>;

/** Grants that one turn looks at, and bets of one transaction. */
const PAGE = 500;
const BETS_AT_ONCE = 500;
/** How long it is waited for the sink. */
const SINK_WAIT_MS = 5_000;
/** How often bets without a rate are looked at again. */
const RATES_PAUSE_MS = 30_000;

/**
 * Counts bets again whose grants have another window than they were counted for: those that were credited or ended since
 * the bets came, and those of merged players. All that a grant can take is recorded in Postgres from its commit on; what
 * came before, because clocks differ or a platform credited with an earlier time, is looked up in ClickHouse once the
 * sink has it ({@link Recounter.lookUp}). That waits, so it has a loop of its own.
 */
export class Recounter {
  readonly #deps: RecountDeps;
  readonly #failed = new BackOff();
  #after = NIL_ID;
  #look_up_after = NIL_ID;
  #rates_after: BetKey | undefined;
  #rates_due_ms = 0;

  constructor(deps: RecountDeps) {
    this.#deps = deps;
  }

  /** The walk over the bets without a rate has further pages: the next turn looks at the next one. */
  get has_more_without_rate(): boolean {
    return this.#rates_after !== undefined;
  }

  /**
   * Counts for the next page of grants whose bets are recorded; false when there are no more. A grant that fails does not
   * stop the others.
   */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    if (clock.now_ms() >= this.#rates_due_ms) await this.#countWithoutRate();
    const due = await selectDue(postgres.service, this.#after, PAGE);
    this.#after = nextOf(due);
    const without_bets = due.filter(({ has_bets }) => !has_bets);
    await retryConflicts(() => markCounted(postgres.service, without_bets));
    const with_bets = due.filter(({ has_bets }) => has_bets);
    await this.#each(with_bets, stop, async (grant) => {
      await this.#count(grant, stop);
      await retryConflicts(() => markCounted(postgres.service, [grant]));
    });
    return this.#after !== NIL_ID && stop?.aborted !== true;
  }

  /**
   * Records and counts the bets of the next page of grants that came before these were stored; false when there are no
   * more, or when the sink is behind.
   */
  async lookUp(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const due = await selectToLookUp(postgres.service, this.#look_up_after, PAGE, MAX_AHEAD_MS);
    const without_events = due.filter(({ has_events }) => !has_events);
    await retryConflicts(() => markRecorded(postgres.service, without_events));
    const early = due.filter(({ has_events }) => has_events);
    try {
      if (early.length > 0) await waitUntilInClickHouse(this.#deps, clock.now_ms() + SINK_WAIT_MS, stop);
    } catch (error) {
      if (error instanceof NotCaughtUp || isStopped(stop)) return false;
      throw error;
    }
    this.#look_up_after = nextOf(due);
    const with_bets = await this.#withBets(early);
    const others = early.filter((grant) => !with_bets.has(grant));
    await retryConflicts(() => markRecorded(postgres.service, others));
    await this.#each([...with_bets], stop, async (grant) => {
      await this.#record(grant, stop);
      await retryConflicts(() => markRecorded(postgres.service, [grant]));
    });
    return this.#look_up_after !== NIL_ID && stop?.aborted !== true;
  }

  /** Those of the grants whose players have events of bets since their activation: one question per project. */
  async #withBets(grants: readonly GrantToLookUp[]): Promise<Set<GrantToLookUp>> {
    const found = new Set<GrantToLookUp>();
    for (const same of groupBy(grants, ({ project_id }) => project_id).values()) {
      const [first] = same;
      if (first === undefined) continue;
      const ids = same.flatMap(({ bettor_ids }) => bettor_ids);
      const from_ms = Math.min(...same.map(({ activated_at }) => activated_at.getTime()));
      const bettors = await selectBettors(this.#deps.clickhouse, first, ids, from_ms);
      for (const grant of same) if (grant.bettor_ids.some((id) => bettors.has(id))) found.add(grant);
    }
    return found;
  }

  /** Does the work for each grant that has not failed lately. */
  async #each<Grant extends DueGrant>(
    grants: readonly Grant[],
    stop: AbortSignal | undefined,
    work: (grant: Grant) => Promise<void>,
  ): Promise<void> {
    const { logger } = this.#deps;
    const resting = new Set(this.#failed.keys());
    for (const grant of grants) {
      if (stop?.aborted === true) return;
      const { tenant_id, project_id, grant_id } = grant;
      if (resting.has(grant_id)) continue;
      try {
        await work(grant);
      } catch (error) {
        if (isStopped(stop)) return;
        this.#failed.begin(grant_id);
        logger.warn(
          { err: error, tenant_id, project_id, grant_id },
          'the bets of a grant could not be counted again; they are tried again',
        );
      }
    }
  }

  /** Records the bets since the grant's activation that ClickHouse has. */
  async #record(grant: GrantToLookUp, stop: AbortSignal | undefined): Promise<void> {
    const { clickhouse, clock } = this.#deps;
    const { tenant_id, project_id, bettor_ids, activated_at, until } = grant;
    const from_ms = activated_at.getTime();
    const window = { from_ms, until_ms: until?.getTime() ?? clock.now_ms() + MAX_AHEAD_MS };
    let after: EventPosition | undefined;
    do {
      stop?.throwIfAborted();
      const page = await selectBetEvents(
        clickhouse,
        { tenant_id, project_id, event_player_ids: bettor_ids },
        window,
        after,
        BETS_AT_ONCE,
      );
      const bets = new Map<string, NamedBet>();
      for (const { event, bet_id, game_category } of page)
        addBet(bets, event, bet_id, game_category === '' ? undefined : game_category);
      if (bets.size > 0) await countIsolated(this.#deps, { tenant_id, project_id }, [...bets.values()]);
      after = page.length === BETS_AT_ONCE ? page.at(-1) : undefined;
    } while (after !== undefined);
  }

  async #count(grant: DueGrant, stop: AbortSignal | undefined): Promise<void> {
    const { service } = this.#deps.postgres;
    let after: BetPosition | undefined;
    do {
      stop?.throwIfAborted();
      const page = await selectBetsSince(service, grant, after, BETS_AT_ONCE);
      await this.#recount(grant, page);
      after = page.length === BETS_AT_ONCE ? page.at(-1) : undefined;
    } while (after !== undefined);
    let last: string | undefined;
    for (;;) {
      stop?.throwIfAborted();
      const strays = await selectStrays(service, grant, BETS_AT_ONCE);
      // Those that stay are within the window that the grant has got meanwhile: it is due again.
      const [first] = strays;
      if (first === undefined || first.bet_id === last) return;
      last = first.bet_id;
      await this.#recount(grant, strays);
    }
  }

  async #recount({ tenant_id, project_id }: ProjectRef, names: readonly BetName[]): Promise<void> {
    const { postgres, clock } = this.#deps;
    const project = { tenant_id, project_id };
    const now = new Date(clock.now_ms());
    if (names.length === 0) return;
    await isolated(this.#deps, project, names, (part) =>
      retryConflicts(() => postgres.service.begin((tx) => recountBets(tx, project, part, now))),
    );
  }

  /** Looks at a page of the bets whose rate was not known when they were counted. A project that fails waits a round. */
  async #countWithoutRate(): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const bets = await selectWithoutRate(postgres.service, this.#rates_after, BETS_AT_ONCE);
    const has_more = bets.length === BETS_AT_ONCE;
    this.#rates_after = has_more ? bets.at(-1) : undefined;
    if (!has_more) this.#rates_due_ms = clock.now_ms() + RATES_PAUSE_MS;
    for (const same of groupBy(bets, ({ project_id }) => project_id).values()) {
      const [first] = same;
      if (first === undefined) continue;
      const { tenant_id, project_id } = first;
      try {
        await this.#recount(first, same);
      } catch (error) {
        logger.warn(
          { err: error, tenant_id, project_id },
          'bets without a rate could not be counted again; they are tried again',
        );
      }
    }
  }
}

const isStopped = (stop: AbortSignal | undefined) => stop?.aborted === true;

/** The place after which the next page begins: the first one after the last. */
const nextOf = (page: readonly DueGrant[]) =>
  page.length === PAGE ? (page.at(-1)?.grant_id ?? NIL_ID) : NIL_ID;
