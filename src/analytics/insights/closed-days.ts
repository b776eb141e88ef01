import { LRUCache } from 'lru-cache';
import { startOfLocal } from '../../platform/local-intervals.ts';
import { daysStamp } from './insight-queries.ts';
import type { InsightScope, Plan, Statement } from './kind.ts';

/** Characters of all figures at most. */
const MAX_SIZE = 20_000_000;

/** Runs statements; resolves with the rows of each. */
type Run = (statements: readonly Statement[]) => Promise<Record<string, unknown>[][]>;

/**
 * Figures of days that are over, as JSON text, until one of their events is written anew or another one arrives for them.
 * They are kept under a stamp that ClickHouse makes of the events of the days: it reads columns of a few bytes, where the
 * figures may take seconds. The stamp is read first: events that arrive between the two give the next one another stamp.
 */
export class ClosedDays {
  readonly #known = new LRUCache<string, string>({
    maxSize: MAX_SIZE,
    sizeCalculation: (text, key) => text.length + key.length,
  });

  /** `question` names the project, the query and all that its figures depend on. */
  async of(
    question: string,
    plan: Plan,
    scope: Pick<InsightScope, 'steps' | 'compared' | 'zone' | 'now_ms'>,
    run: Run,
    write: (rows: Record<string, unknown>[][]) => string,
  ): Promise<string> {
    const range = closedRange(plan, scope);
    if (range === undefined) return write(await run(plan.statements));
    const [stamp] = await run([daysStamp(range, plan.events)]);
    const key = `${question} ${JSON.stringify(stamp)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const text = write(await run(plan.statements));
    this.#known.set(key, text);
    return text;
  }
}

/** The days that the figures depend on; undefined: they are not over, or the figures depend on more. */
function closedRange(
  { is_of_events_alone }: Plan,
  { steps, compared, zone, now_ms }: Pick<InsightScope, 'steps' | 'compared' | 'zone' | 'now_ms'>,
): { from_ms: number; to_ms: number } | undefined {
  const from_ms = Math.min(steps.from_ms, compared?.from_ms ?? steps.from_ms);
  const to_ms = Math.max(steps.to_ms, compared?.to_ms ?? steps.to_ms);
  return is_of_events_alone && to_ms <= startOfLocal(zone, 'day', now_ms) ? { from_ms, to_ms } : undefined;
}
