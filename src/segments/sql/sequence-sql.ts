import type { SequenceCondition } from '../language/conditions.ts';
import type { EventScan } from './event-scan.ts';
import type { Bindings } from './bindings.ts';

/**
 * Whether some chain of events takes every step, each strictly later than the one before and within its span. For each
 * step the expression keeps the times at which a chain can reach the step: an event's time is kept if the latest
 * earlier time that was kept for the step before lies within the span. It sorts and counts, so n events of a player
 * cost n log n.
 *
 * Rejected: sequenceMatch, which backtracks (exponentially, until it fails) and leaves equal times undefined;
 * windowFunnel, which measures spans from the first step.
 */
export function sequenceSql(condition: SequenceCondition, scan: EventScan, bindings: Bindings): string {
  return `notEmpty(${reachedTimes(condition, scan, bindings)})`;
}

/** How many steps, from the first on, the longest chain of events takes. */
export function stepsReachedSql(condition: SequenceCondition, scan: EventScan, bindings: Bindings): string {
  const reached = condition.steps.map((_, i) => {
    const steps = condition.steps.slice(0, i + 1);
    return `notEmpty(${reachedTimes({ ...condition, steps }, scan, bindings)})`;
  });
  return reached.join(' + ');
}

/** The sorted times (milliseconds) at which a chain can reach the last step. */
function reachedTimes({ steps }: SequenceCondition, scan: EventScan, bindings: Bindings): string {
  const [first, ...later] = steps.map((step) => ({
    within_ms: step.within_ms,
    times: scan.aggregate(step, 'groupArray', 'toUnixTimestamp64Milli(occurred_at)'),
  }));
  let reached = `arraySort(${first?.times ?? '[]'})`;
  for (const { times, within_ms } of later) {
    // A lambda over a list of one element names an expression that is used twice. At equal times a candidate (0) sorts
    // before a time of the step that it would follow (1), so the count of ones is the index of the last earlier time.
    const merged = `arraySort(arrayConcat(arrayMap(t -> (t, 0), times), arrayMap(t -> (t, 1), reached)))`;
    const near =
      within_ms === undefined ? '' : ` and m.1 - reached[i] <= ${bindings.bind('Int64', within_ms)}`;
    const kept =
      `arrayMap(merged -> arrayMap(m -> m.1, arrayFilter((m, i) -> m.2 = 0 and i > 0${near}, ` +
      `merged, arrayCumSum(m -> m.2, merged))), [${merged}])[1]`;
    reached = `arrayMap((times, reached) -> ${kept}, [${times}], [${reached}])[1]`;
  }
  return reached;
}
