import { NIL_ID } from '../../platform/ids.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import { ApiError } from '../../errors.ts';
import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import { RoundRobin } from '../../platform/round-robin.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { retryPauseMs } from '../../platform/retry-pause.ts';
import type { Platform } from '../../platform/platform.ts';
import { groupBy } from '../../platform/group-by.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import type { Decision, FiringEvent, TriggerKind } from './kind.ts';
import {
  claimTriggerEvents,
  countWaiting,
  failTriggerEvents,
  holdPlayers,
  moveToSurvivors,
  postponeTriggerEvents,
  pruneTriggerEvents,
  selectWaitingListeners,
  settleTriggerEvents,
  type ClaimedEvent,
  type WaitingListener,
} from './trigger-queries.ts';
import { parseExact } from '../../platform/exact-json.ts';
import { keepUnrated } from './unrated.ts';

type Deps = Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics'>;

/** Listeners read per turn. */
const MAX_LISTENERS = 200;
/** Decisions at once: in all, of a tenant, of a project, of a listener. */
const MAX_RUNNING = [8, 4, 2, 1];
/** The pauses of a listener whose events ClickHouse does not have yet. */
const IDLE_PAUSES = { first_ms: 50, longest_ms: 200 };
/** Events per decision; fewer after a failure, so that one event that cannot be decided is found. */
const MAX_EVENTS = 500;
/** Listeners whose decisions failed that are remembered. */
const MAX_FAILED = 10_000;
/** How often positions are looked at while events wait. */
const POLL_MS = 50;
/** An event that could not be decided for so long is given up, and how long it is kept after that. */
const LONGEST_WAIT_MS = 24 * 3_600_000;
const FAILED_KEPT_MS = 30 * LONGEST_WAIT_MS;
/** The pauses of an event after a failed attempt, and of its listener. */
const PAUSES = { first_ms: 1_000, longest_ms: 30_000 };
/**
 * Why an event waits for its rate, and for how long at most it is not looked at meanwhile: its listener may have changed
 * again. The rate itself wakes it.
 */
const WITHOUT_RATE = 'FX_RATE_NOT_FOUND: no rate is known for an amount that decides it';
const RATE_PAUSE_S = 300;
/**
 * How often decided events are removed and the metrics set, how often late events are looked for, how many at once. While
 * there are more to remove, every turn removes so many.
 */
const TIDY_EVERY_MS = 5_000;
const LATE_EVERY_MS = 10_000;
const MAX_TIDIED = 5_000;
/** The metric of waiting events stops counting here. */
const MAX_COUNTED = 100_000;

/**
 * Decides recorded events: as soon as ClickHouse has an event and what it changed, the listener judges the event's
 * player as of now, and what it fires is written in the transaction that marks the event as decided. So each event fires
 * a listener at most once, and an event whose decision fails is tried again. Several processes may decide: each event is
 * claimed by one.
 *
 * A listener whose decisions fail backs off alone. After 24 hours, or when its listener has ended, an undecided event is
 * given up: it stays as a row with the reason, is counted and logged.
 */
export class TriggerDecider {
  readonly #deps: Deps;
  readonly #kinds: ReadonlyMap<string, TriggerKind>;
  readonly #queue: RoundRobin<WaitingListener>;
  /** How many events a listener decides at once after failures, and whether its last decision failed. */
  readonly #failed = new BoundedCache<string, { limit: number; has_failed: boolean }>({ max: MAX_FAILED });
  /** Listeners that were looked at for late events within the last 10 s. */
  readonly #looked_late = new BoundedCache<string, true>({ max: 10 * MAX_LISTENERS, ttl: LATE_EVERY_MS });
  #after = NIL_ID;
  #tidied_ms = Number.NEGATIVE_INFINITY;
  /** The last removal left some behind. */
  #has_old = false;

  constructor(deps: Deps, kinds: readonly TriggerKind[]) {
    this.#deps = deps;
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
    this.#queue = new RoundRobin({
      keysOf: ({ tenant_id, project_id, listener_id }) => [tenant_id, project_id, listener_id],
      max_running: MAX_RUNNING,
      idle_pauses: IDLE_PAUSES,
      failure_pauses: PAUSES,
      // It is logged where it is stored.
      onFailure: () => undefined,
    });
  }

  /** Starts decisions of the next listeners that have waiting events, then pauses; false when no event waits. */
  async turn(stop: AbortSignal): Promise<boolean> {
    const { service } = this.#deps.postgres;
    const has_old = await this.#tidy();
    const listeners = await selectWaitingListeners(service, this.#after, MAX_LISTENERS);
    await this.#giveUpLate(listeners);
    void this.#queue.offer(listeners, (listener) => this.#serve(listener));
    if (listeners.length === 0 && this.#queue.running === 0 && !has_old) return false;
    const ended = this.#queue.next().then(() => true);
    const has_ended = await Promise.race([ended, sleep(POLL_MS, false, { signal: stop })]);
    // While all places are taken, these listeners have not had their turn.
    if (has_ended || !this.#queue.isFull) {
      this.#after = listeners.length < MAX_LISTENERS ? NIL_ID : (listeners.at(-1)?.listener_id ?? NIL_ID);
    }
    return true;
  }

  /** Resolves when the running decisions have ended. */
  async close(): Promise<void> {
    await this.#queue.close();
  }

  /** Whether there was something to decide. After a failure the events wait, and it rejects. */
  async #serve(listener: WaitingListener): Promise<boolean> {
    const { listener_id } = listener;
    const kind = this.#kinds.get(listener.listener_kind);
    if (kind === undefined) return false;
    const { limit, has_failed } = this.#failed.get(listener_id) ?? { limit: MAX_EVENTS, has_failed: false };
    let claimed: ClaimedEvent[] = [];
    try {
      const decision = await kind.open(listener);
      if (decision === undefined) {
        await this.#giveUp(listener, 'it ended before the event was decided');
        this.#failed.delete(listener_id);
        return true;
      }
      const { reads_clickhouse } = decision;
      claimed = await claimTriggerEvents(this.#deps.postgres.service, listener, { reads_clickhouse, limit });
      if (claimed.length === 0) return false;
      await this.#decide(listener, decision, claimed);
      if (has_failed || claimed.some(({ attempts }) => attempts > 1)) await kind.noteFailure(listener, null);
      // It grows slowly: the next failure then concerns few events.
      if (limit * 2 >= MAX_EVENTS) this.#failed.delete(listener_id);
      else this.#failed.set(listener_id, { limit: limit * 2, has_failed: false });
      return true;
    } catch (error) {
      this.#failed.set(listener_id, { limit: Math.max(1, Math.floor(limit / 2)), has_failed: true });
      await this.#postpone(kind, listener, claimed, error);
      throw error;
    }
  }

  async #decide(
    listener: WaitingListener,
    decision: Decision,
    claimed: readonly ClaimedEvent[],
  ): Promise<void> {
    const { postgres, clock, metrics } = this.#deps;
    const merged = claimed.filter(({ is_merged }) => is_merged);
    if (merged.length > 0) await moveToSurvivors(postgres.service, listener, merged.map(keyOf));
    const judged = claimed.filter(({ is_merged }) => !is_merged).map((one) => judgedBy(decision, one));
    await this.#leaveToRates(listener, judged.filter(isUndecided));
    const events = judged.filter((one) => !isUndecided(one));
    if (events.length === 0) return;
    const accepted = events.filter(({ is_accepted }) => is_accepted);
    const player_ids = [...new Set(accepted.map(({ player_id }) => player_id))];
    const matching = player_ids.length === 0 ? new Set() : await decision.judge(player_ids);
    const fires = ({ is_accepted, player_id }: JudgedEvent) =>
      is_accepted === true && matching.has(player_id);
    const decided = events.map(
      (one) => ({ event_key: one.event_key, outcome: fires(one) ? 'fired' : 'refused' }) as const,
    );
    const settled = await retryConflicts(() =>
      postgres.service.begin(async (tx) => {
        await holdPlayers(
          tx,
          events.map(({ player_id }) => ({ ...projectRefOf(listener), player_id })),
        );
        const now = new Date(clock.now_ms());
        const keys = await settleTriggerEvents(tx, listener, decided, now);
        const firing = events.filter((one) => keys.has(one.event_key) && fires(one));
        const committed = firing.length > 0 ? await decision.fire(tx, firing.map(firingOf)) : undefined;
        return { fired: firing.length, refused: keys.size - firing.length, committed };
      }),
    );
    settled.committed?.();
    for (const outcome of ['fired', 'refused'] as const) {
      metrics.triggerEvents.inc({ outcome }, settled[outcome]);
    }
  }

  /**
   * Leaves events to their rates on which the listener depends now, though it did not when they were recorded: they are kept
   * as those that have just come. What gives a kept event its amounts gives them to the waiting one.
   */
  async #leaveToRates(listener: WaitingListener, events: readonly JudgedEvent[]): Promise<void> {
    const { postgres, clock } = this.#deps;
    if (events.length === 0) return;
    // First: the rate, whenever it comes, ends the pause.
    await postponeTriggerEvents(postgres.service, listener, events.map(keyOf), WITHOUT_RATE, RATE_PAUSE_S);
    const now = new Date(clock.now_ms());
    for (const of_place of groupBy(events, ({ partition, log_id }) => `${partition} ${log_id}`).values()) {
      const [first] = of_place;
      if (first === undefined) continue;
      const kept = of_place.map(({ value, log_offset, event }) => {
        return { record: { offset: log_offset, value }, event };
      });
      await keepUnrated(postgres.service, first, kept, now);
    }
  }

  /** After a failure: the events wait, and the reason is stored with them and shown to the listener's editor. */
  async #postpone(
    kind: TriggerKind,
    listener: WaitingListener,
    claimed: readonly ClaimedEvent[],
    error: unknown,
  ): Promise<void> {
    const { postgres, logger, metrics } = this.#deps;
    const { listener_id, listener_kind } = listener;
    const message = reasonOf(error);
    metrics.triggerFailures.inc();
    // The error itself is not logged: Postgres quotes rows in it.
    logger.warn(
      { listener_id, listener_kind, reason: message, events: claimed.length },
      'events could not be decided; their listener backs off',
    );
    try {
      const attempt = Math.max(1, ...claimed.map((event) => event.attempts));
      const pause_s = retryPauseMs(PAUSES, { attempt }) / 1_000;
      await postponeTriggerEvents(postgres.service, listener, claimed.map(keyOf), message, pause_s);
      await kind.noteFailure(listener, message);
    } catch (failure) {
      // Postgres is away: the claims end by themselves.
      logger.warn({ err: failure, listener_id }, 'the reason of a failed decision could not be stored');
    }
  }

  /** Removes what need not be kept, and sets the metrics, at most every 5 s; returns whether there is more to remove. */
  async #tidy(): Promise<boolean> {
    const { postgres, clock, metrics } = this.#deps;
    const now_ms = clock.now_ms();
    const is_due = now_ms >= this.#tidied_ms + TIDY_EVERY_MS;
    if (!is_due && !this.#has_old) return false;
    this.#has_old = (await pruneTriggerEvents(postgres.service, new Date(now_ms), MAX_TIDIED)) === MAX_TIDIED;
    if (is_due) {
      this.#tidied_ms = now_ms;
      const { waiting, oldest_ms } = await countWaiting(postgres.service, MAX_COUNTED);
      metrics.triggerWaiting.set(waiting);
      metrics.triggerWaitingAge.set(oldest_ms === undefined ? 0 : Math.max(now_ms - oldest_ms, 0) / 1_000);
    }
    return this.#has_old;
  }

  /** Gives up what waits too long for these listeners, each of them at most every 10 s. */
  async #giveUpLate(listeners: readonly WaitingListener[]): Promise<void> {
    const recorded_before = new Date(this.#deps.clock.now_ms() - LONGEST_WAIT_MS);
    for (const listener of listeners) {
      if (this.#looked_late.has(listener.listener_id)) continue;
      this.#looked_late.set(listener.listener_id, true);
      await this.#giveUp(listener, 'it could not be decided within 24 hours', recorded_before);
    }
  }

  async #giveUp(listener: WaitingListener, message: string, recorded_before?: Date): Promise<void> {
    const { postgres, clock, logger, metrics } = this.#deps;
    const now_ms = clock.now_ms();
    const [now, keep_until] = [new Date(now_ms), new Date(now_ms + FAILED_KEPT_MS)];
    const terms = { recorded_before, now, keep_until, limit: MAX_TIDIED };
    const events = await failTriggerEvents(postgres.service, listener, message, terms);
    if (events === 0) return;
    metrics.triggerEvents.inc({ outcome: 'failed' }, events);
    const { listener_id, listener_kind } = listener;
    logger.error({ listener_id, listener_kind, events }, 'events were given up undecided');
  }
}

const keyOf = ({ event_key }: ClaimedEvent) => event_key;

/** A claimed event, and whether the listener takes it; undefined: that depends on an amount without a rate. */
interface JudgedEvent extends ClaimedEvent {
  event: PlayerEvent;
  is_accepted: boolean | undefined;
}

function judgedBy({ accepts }: Decision, claimed: ClaimedEvent): JudgedEvent {
  const event = parseExact(claimed.value) as PlayerEvent;
  return { ...claimed, event, is_accepted: accepts === undefined ? true : accepts(event) };
}

const isUndecided = ({ is_accepted }: JudgedEvent) => is_accepted === undefined;

function firingOf({ event_key, player_id, event, partition, log_offset, log_id }: JudgedEvent): FiringEvent {
  return { event_key, player_id, event, partition, log_offset, log_id };
}

/** The reason of a failure for operators and editors: without the text of foreign errors, which may quote rows. */
function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  const { code, name } = error as { code?: unknown; name?: unknown };
  return `the decision failed: ${String(code ?? name)}`;
}
