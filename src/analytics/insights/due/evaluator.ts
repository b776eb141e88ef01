import { NotCaughtUp, waitUntilInClickHouse } from '../../caught-up.ts';
import { ApiError } from '../../../errors.ts';
import { TooBusy } from '../../../platform/fair-queue.ts';
import type { Platform } from '../../../platform/platform.ts';
import { retryPauseMs } from '../../../platform/retry-pause.ts';
import { RoundRobin } from '../../../platform/round-robin.ts';
import type { InsightRunner } from '../runner.ts';
import type { SavedRef } from '../saved/queries.ts';
import { claim, fail, release, selectDue, type Claimed, type DueTable } from './queries.ts';

/** An interval is decided, and a report made, so long after its time: clients send some events late. */
export const SETTLE_MS = 5 * 60_000;
/** After so long another process may take the record: longer than one evaluation may take. */
export const CLAIM_MS = 15 * 60_000;
/** Pauses after evaluations that failed. */
const PAUSES = { first_ms: 60_000, longest_ms: 3_600_000 };
/** How long one look waits until what was accepted before it is in ClickHouse. */
const CAUGHT_UP_MS = 20_000;
/** Tenants of which one look evaluates a record, and how many at once. */
const MAX_TENANTS = 200;
const MAX_RUNNING = 2;

/** What evaluating needs. */
export interface EvaluatorDeps extends Pick<
  Platform,
  'postgres' | 'clickhouse' | 'eventLog' | 'clock' | 'logger'
> {
  runner: InsightRunner;
  /** Resolves when what was accepted before the call can be asked; rejects with NotCaughtUp. Absent: by the positions. */
  caughtUp?: (stop?: AbortSignal) => Promise<void>;
}

/** A look at records. What was accepted before `known_ms` is in ClickHouse; `isOver`: it should end soon. */
export interface Look {
  known_ms: number;
  isOver: () => boolean;
}

/**
 * Decides a claimed record, and writes what follows in one transaction with its new position. What it rejects with is noted
 * with the record, which stays due.
 */
export type Decide<Id extends string, Content> = (claimed: Claimed<Id, Content>, look: Look) => Promise<void>;

/**
 * Evaluates alerts or reports that are due: one of each tenant in a turn, two at once, so that a tenant whose records are
 * slow, fail, or are many does not hold up others. Each is decided after what was accepted before is in ClickHouse.
 */
export class DueEvaluator<Id extends string, Content> {
  readonly #deps: EvaluatorDeps;
  readonly #of: DueTable<Id>;
  readonly #decide: Decide<Id, Content>;
  readonly #turns: RoundRobin<SavedRef<Id>>;

  constructor(deps: EvaluatorDeps, of: DueTable<Id>, decide: Decide<Id, Content>) {
    this.#deps = deps;
    this.#of = of;
    this.#decide = decide;
    this.#turns = new RoundRobin({
      keysOf: (ref) => [ref.tenant_id, ref[of.id]],
      max_running: [MAX_RUNNING, 1],
      onFailure: (ref, error) =>
        deps.logger.error(
          { err: error, [of.id]: ref[of.id] },
          'the outcome of an evaluation could not be written',
        ),
    });
  }

  /** Whether a record was evaluated. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const now = new Date(clock.now_ms());
    const due = await selectDue(postgres.service, this.#of, now, MAX_TENANTS);
    if (due.length === 0) return false;
    // One wait for all of the turn.
    const caught_up = this.#caughtUp(stop);
    caught_up.catch(() => undefined);
    let has_evaluated = false;
    await this.#turns.offer(due, async (ref) => {
      const is_mine = stop?.aborted !== true && (await this.#evaluate(ref, now.getTime(), caught_up, stop));
      has_evaluated ||= is_mine;
      return is_mine;
    });
    return has_evaluated;
  }

  async close(): Promise<void> {
    await this.#turns.close();
  }

  #caughtUp(stop?: AbortSignal): Promise<void> {
    const { caughtUp, ...engines } = this.#deps;
    if (caughtUp !== undefined) return caughtUp(stop);
    return waitUntilInClickHouse(engines, engines.clock.now_ms() + CAUGHT_UP_MS, stop);
  }

  /** Decides a due record, or notes why it could not. False: another process has it. */
  async #evaluate(
    ref: SavedRef<Id>,
    known_ms: number,
    caught_up: Promise<void>,
    stop: AbortSignal | undefined,
  ): Promise<boolean> {
    const { postgres, clock, logger } = this.#deps;
    const { id } = this.#of;
    const now = new Date(clock.now_ms());
    const until = new Date(now.getTime() + CLAIM_MS);
    const claimed = await claim<Id, Content>(postgres.service, this.#of, ref, now, until);
    if (claimed === undefined) return false;
    try {
      await caught_up;
      await this.#decide(claimed, { known_ms, isOver: () => stop?.aborted === true });
    } catch (error) {
      if (stop?.aborted === true) {
        await release(postgres.service, this.#of, claimed);
        return false;
      }
      const { code, message, asked_ms, is_unexpected } = faultOf(error);
      if (is_unexpected) logger.warn({ err: error, [id]: ref[id] }, 'a record could not be evaluated');
      const now_ms = clock.now_ms();
      const pause_ms = Math.max(asked_ms, retryPauseMs(PAUSES, { attempt: claimed.failures + 1 }));
      const next_at = new Date(now_ms + pause_ms);
      await fail(postgres.service, this.#of, claimed, { code, message, next_at }, new Date(now_ms));
    }
    return true;
  }
}

/** What is shown of an error; `asked_ms`: the pause that it asks for. */
export interface Fault {
  code: string;
  message: string;
  asked_ms: number;
  /** It is no error that a query can have: the log has it. */
  is_unexpected: boolean;
}

/** What is shown of an error. */
export function faultOf(error: unknown): Fault {
  if (error instanceof ApiError) {
    const { code, message, retry_after_s = 0 } = error;
    return { code, message, asked_ms: retry_after_s * 1_000, is_unexpected: false };
  }
  const is_known = error instanceof NotCaughtUp || error instanceof TooBusy;
  const message = is_known ? error.message : 'the log of the service says why';
  return { code: 'SERVICE_UNAVAILABLE', message, asked_ms: 0, is_unexpected: !is_known };
}
