import { readMoney } from '../../../engage/templates/money-catalogue.ts';
import { ApiError } from '../../../errors.ts';
import { exactJson } from '../../../platform/exact-json.ts';
import { newId } from '../../../platform/ids.ts';
import { nextLocal, startOfLocal } from '../../../platform/local-intervals.ts';
import { DueEvaluator, SETTLE_MS, type EvaluatorDeps, type Look } from '../due/evaluator.ts';
import { ALERTS, conclude } from '../due/queries.ts';
import { insertNotices } from '../notices/queries.ts';
import { factsOf } from './facts.ts';
import {
  decideIntervals,
  readMeasure,
  startsBetween,
  wholeFrom,
  type Decided,
  type Measure,
} from './measure.ts';
import { noticeContents } from './message.ts';
import { insertFirings, type ClaimedAlert } from './queries.ts';
import type { AlertContent } from './schema.ts';

/** Intervals that one evaluation decides: after a longer pause those before them are passed over. */
export const MAX_DECIDED = 100;

/**
 * Evaluates alerts that are due. The decisions about the intervals that are over, and the notices of the newest one that
 * fires, are written in one transaction: each interval is decided once, also when its events are restated later.
 */
export function alertEvaluator(deps: EvaluatorDeps): DueEvaluator<'alert_id', AlertContent> {
  return new DueEvaluator(deps, ALERTS, (claimed, look) => decideClaimed(deps, claimed, look));
}

async function decideClaimed(deps: EvaluatorDeps, claimed: ClaimedAlert, { known_ms }: Look): Promise<void> {
  const { postgres, clock } = deps;
  const { tenant_id, project_id, content } = claimed;
  const measure = await readMeasure(deps, { tenant_id, project_id }, content.query, content.interval);
  const { zone } = measure.asked.scope;
  const begun_ms =
    claimed.decided_until?.getTime() ?? startOfLocal(zone, content.interval, claimed.created_at.getTime());
  const until_ms = known_ms - SETTLE_MS;
  const starts_ms = startsBetween(zone, content.interval, begun_ms, until_ms, MAX_DECIDED);
  const decided = await decideSome(deps, measure, content.condition, starts_ms);
  // A position within an interval is that of another interval or zone: it goes on with the next whole one.
  const end_ms = decided.at(-1)?.to_ms ?? wholeFrom(zone, content.interval, begun_ms);
  const last_ms = decided.at(-1)?.to_ms;
  const next = {
    decided_until: last_ms === undefined ? claimed.decided_until : new Date(last_ms),
    next_at: new Date(nextLocal(zone, content.interval, end_ms) + SETTLE_MS),
  };
  const firings = decided.flatMap((one) => (one.decision.kind === 'fires' ? [firingOf(one)] : []));
  const money = firings.length === 0 ? undefined : await readMoney(postgres.service, tenant_id);
  const now = new Date(clock.now_ms());
  await postgres.service.begin(async (tx) => {
    if (!(await conclude(tx, ALERTS, claimed, next))) return;
    const noted = new Set(
      (await insertFirings(tx, claimed, firings, now)).map((from_at) => from_at.getTime()),
    );
    const newest = firings.findLast(({ from_at }) => noted.has(from_at.getTime()));
    if (newest === undefined || money === undefined) return;
    await insertNotices(tx, noticesOf(claimed, measure, newest, money, now), now);
  });
}

/**
 * Decides the intervals, or, when a question about so many is too expensive, the older half of them: the others are due at
 * once. So an alert comes back from a long pause.
 */
async function decideSome(
  deps: EvaluatorDeps,
  measure: Measure,
  condition: AlertContent['condition'],
  starts_ms: readonly number[],
): Promise<Decided[]> {
  if (starts_ms.length === 0) return [];
  try {
    return await decideIntervals(deps, measure, condition, starts_ms);
  } catch (error) {
    const is_too_much = error instanceof ApiError && error.code === 'INSIGHT_TOO_EXPENSIVE';
    if (!is_too_much || starts_ms.length === 1) throw error;
    return decideSome(deps, measure, condition, starts_ms.slice(0, Math.ceil(starts_ms.length / 2)));
  }
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
    const sent = exactJson(receiver.kind === 'webhook' ? { payload } : message);
    return { tenant_id, project_id, notice_id, owner_id, receiver, content: sent };
  });
}
