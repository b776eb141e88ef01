import { NotCaughtUp, waitUntilInClickHouse } from '../../caught-up.ts';
import { ApiError } from '../../../errors.ts';
import { readMoney } from '../../../engage/templates/money-catalogue.ts';
import { TooBusy } from '../../../platform/fair-queue.ts';
import { newId } from '../../../platform/ids.ts';
import { nextLocal, startOfLocal } from '../../../platform/local-intervals.ts';
import type { Platform } from '../../../platform/platform.ts';
import { retryPauseMs } from '../../../platform/retry-pause.ts';
import { RoundRobin } from '../../../platform/round-robin.ts';
import { insertNotices } from '../notices/queries.ts';
import type { InsightRunner } from '../runner.ts';
import { factsOf } from './facts.ts';
import { decideIntervals, readMeasure, startsBetween, type Decided, type Measure } from './measure.ts';
import { noticeContents } from './message.ts';
import {
  claimAlert,
  concludeAlert,
  failAlert,
  insertFirings,
  selectDueAlerts,
  type AlertRef,
  type ClaimedAlert,
} from './queries.ts';

/** An interval is decided so long after its end: clients send some events late. */
export const SETTLE_MS = 5 * 60_000;
/** Intervals that one evaluation decides: after a longer pause those before them are passed over. */
export const MAX_DECIDED = 100;
/** After so long another process may evaluate the alert: longer than one evaluation may take. */
const CLAIM_MS = 15 * 60_000;
/** Pauses after evaluations that failed. */
const PAUSES = { first_ms: 60_000, longest_ms: 3_600_000 };
/** How long one look waits until what was accepted before it is in ClickHouse. */
const CAUGHT_UP_MS = 20_000;
/** Tenants of which one look evaluates an alert, and how many at once. */
const MAX_TENANTS = 200;
const MAX_RUNNING = 2;

/** What the evaluation of alerts needs. */
export interface EvaluatorDeps extends Pick<
  Platform,
  'postgres' | 'clickhouse' | 'eventLog' | 'clock' | 'logger'
> {
  runner: InsightRunner;
  /** Resolves when what was accepted before the call can be asked; rejects with NotCaughtUp. Absent: by the positions. */
  caughtUp?: (stop?: AbortSignal) => Promise<void>;
}

/**
 * Evaluates alerts that are due: one of each tenant in a turn, two at once, so that a tenant whose alerts are slow, fail, or are
 * many does not hold up others.
 */
export class AlertEvaluator {
  readonly #deps: EvaluatorDeps;
  readonly #turns: RoundRobin<AlertRef>;

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
    this.#turns = new RoundRobin({
      keysOf: ({ tenant_id, alert_id }) => [tenant_id, alert_id],
      max_running: [MAX_RUNNING, 1],
      onFailure: ({ alert_id }, error) =>
        deps.logger.error({ err: error, alert_id }, 'the outcome of an alert could not be written'),
    });
  }

  /** Whether an alert was evaluated. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const now = new Date(clock.now_ms());
    const due = await selectDueAlerts(postgres.service, now, MAX_TENANTS);
    if (due.length === 0) return false;
    // One wait for all of the turn.
    const caught_up = this.#caughtUp(stop);
    caught_up.catch(() => undefined);
    let has_evaluated = false;
    await this.#turns.offer(due, async (ref) => {
      const is_mine = stop?.aborted !== true && (await evaluateAlert(this.#deps, ref, caught_up, stop));
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
}

/**
 * Decides the intervals of a due alert that are over and not decided. The decisions, and the notices of the newest interval
 * that fires, are written in one transaction: each interval is decided once, also when its events are restated later. What
 * fails is noted with the alert, which stays due. False: another process has the alert.
 */
async function evaluateAlert(
  deps: EvaluatorDeps,
  ref: AlertRef,
  caught_up: Promise<void>,
  stop: AbortSignal | undefined,
): Promise<boolean> {
  const { postgres, clock, logger } = deps;
  const now = new Date(clock.now_ms());
  const claimed = await claimAlert(postgres.service, ref, now, new Date(now.getTime() + CLAIM_MS));
  if (claimed === undefined) return false;
  try {
    await caught_up;
    await decideClaimed(deps, claimed);
  } catch (error) {
    // The claim ends by itself.
    if (stop?.aborted === true) return false;
    const { code, message, asked_ms } = faultOf(error);
    if (code === UNEXPECTED) logger.warn({ err: error, ...ref }, 'an alert could not be evaluated');
    const now_ms = clock.now_ms();
    const pause_ms = Math.max(asked_ms, retryPauseMs(PAUSES, { attempt: claimed.failures + 1 }));
    const next_at = new Date(now_ms + pause_ms);
    await failAlert(postgres.service, claimed, { code, message, next_at }, new Date(now_ms));
  }
  return true;
}

const UNEXPECTED = 'SERVICE_UNAVAILABLE';

/** What the alert shows of an error. */
function faultOf(error: unknown): { code: string; message: string; asked_ms: number } {
  if (error instanceof ApiError) {
    const { code, message, retry_after_s = 0 } = error;
    return { code, message, asked_ms: retry_after_s * 1_000 };
  }
  const is_known = error instanceof NotCaughtUp || error instanceof TooBusy;
  const message = is_known ? error.message : 'the log of the service says why';
  return { code: UNEXPECTED, message, asked_ms: 0 };
}

async function decideClaimed(deps: EvaluatorDeps, claimed: ClaimedAlert): Promise<void> {
  const { postgres, clock } = deps;
  const { tenant_id, project_id, content } = claimed;
  const measure = await readMeasure(deps, { tenant_id, project_id }, content.query, content.interval);
  const { zone } = measure.asked.scope;
  const begun_ms =
    claimed.decided_until?.getTime() ?? startOfLocal(zone, content.interval, claimed.created_at.getTime());
  const until_ms = clock.now_ms() - SETTLE_MS;
  const starts_ms = startsBetween(zone, content.interval, begun_ms, until_ms, MAX_DECIDED);
  const decided =
    starts_ms.length === 0 ? [] : await decideIntervals(deps, measure, content.condition, starts_ms);
  const end_ms = decided.at(-1)?.to_ms ?? begun_ms;
  const last_ms = decided.at(-1)?.to_ms;
  const next = {
    decided_until: last_ms === undefined ? claimed.decided_until : new Date(last_ms),
    next_at: new Date(nextLocal(zone, content.interval, end_ms) + SETTLE_MS),
  };
  const firings = decided.flatMap((one) => (one.decision.kind === 'fires' ? [firingOf(one)] : []));
  const money = firings.length === 0 ? undefined : await readMoney(postgres.service, tenant_id);
  const now = new Date(clock.now_ms());
  await postgres.service.begin(async (tx) => {
    if (!(await concludeAlert(tx, claimed, next))) return;
    const noted = new Set(
      (await insertFirings(tx, claimed, firings, now)).map((from_at) => from_at.getTime()),
    );
    const newest = firings.findLast(({ from_at }) => noted.has(from_at.getTime()));
    if (newest === undefined || money === undefined) return;
    await insertNotices(tx, noticesOf(claimed, measure, newest, money, now), now);
  });
}

function firingOf({ from_ms, to_ms, value, decision }: Decided) {
  return { from_at: new Date(from_ms), to_at: new Date(to_ms), facts: factsOf(value, decision) };
}

function noticesOf(
  claimed: ClaimedAlert,
  measure: Measure,
  firing: ReturnType<typeof firingOf>,
  money: Awaited<ReturnType<typeof readMoney>>,
  now: Date,
) {
  const { tenant_id, project_id, alert_id: owner_id, content } = claimed;
  return content.receivers.map((receiver) => {
    const notice_id = newId();
    const { payload, ...message } = noticeContents({ claimed, measure, firing, money, now, notice_id });
    const sent = receiver.kind === 'webhook' ? { payload } : message;
    return { tenant_id, project_id, notice_id, owner_id, receiver, content: sent };
  });
}
