import { changeLine, playerKey, playerOf } from '../../../ingest/events/envelope.ts';
import { groupBy } from '../../../platform/group-by.ts';
import type { LogRecord } from '../../../platform/event-log/port.ts';
import { NIL_ID } from '../../../platform/ids.ts';
import { projectRefOf, type ProjectRef } from '../../../tenants/project-ref.ts';
import { recordTriggerEvents } from '../../triggers/record.ts';
import { rateTriggerEvents } from '../../triggers/trigger-queries.ts';
import { deleteUnrated, pruneUnrated, selectRated, type RatedEvent } from '../../triggers/unrated-queries.ts';
import { journeyTriggers } from './event-entry.ts';
import type { Matcher, MatcherDeps } from './matcher.ts';

/** Projects of a turn, and events of each. */
const MAX_PROJECTS = 20;
const MAX_EVENTS = 100;
/** An event that is older starts and ends nothing, so that its rate decides nothing any more. */
const KEPT_MS = 24 * 3_600_000;
/** How often events are removed that were kept for too long. */
export const PRUNE_EVERY_MS = 600_000;
const MAX_PRUNED = 5_000;

/**
 * Looks again at events about which a filter could not decide, once their rates are known: they start journeys, and wake
 * and end runs, as if they came now, but count from their own place on the log. A crash repeats this, which changes nothing.
 */
export class RatedEvents {
  readonly #deps: MatcherDeps;
  readonly #matcher: Pick<Matcher, 'lookAgain'>;
  readonly #triggers: ReturnType<typeof journeyTriggers>;
  #after: ProjectRef = { tenant_id: NIL_ID, project_id: NIL_ID };
  #pruned_ms = Number.NEGATIVE_INFINITY;

  constructor(deps: MatcherDeps, matcher: Pick<Matcher, 'lookAgain'>) {
    this.#deps = deps;
    this.#matcher = matcher;
    this.#triggers = journeyTriggers(deps);
  }

  /** Looks at the next events of some projects in turn; returns whether there may be more. */
  async turn(): Promise<boolean> {
    const { service } = this.#deps.postgres;
    const is_pruned = await this.#prune();
    const limits = { projects: MAX_PROJECTS, limit: MAX_EVENTS };
    const rated = await selectRated(service, this.#after, limits);
    const projects = groupBy(rated, ({ project_id }) => project_id);
    const is_last = projects.size < MAX_PROJECTS;
    const last = rated.at(-1);
    const began_at = this.#after;
    this.#after =
      is_last || last === undefined ? { tenant_id: NIL_ID, project_id: NIL_ID } : projectRefOf(last);
    let failed = 0;
    for (const of_project of projects.values()) {
      try {
        await this.#look(of_project);
        await deleteUnrated(service, of_project);
      } catch (error) {
        // It is tried again in the next round: the others do not wait for it.
        failed += 1;
        const { project_id } = of_project[0] ?? {};
        this.#deps.logger.warn({ err: error, project_id }, 'events whose rates came could not be looked at');
      }
    }
    return !is_pruned || projects.size > failed || began_at.project_id !== NIL_ID;
  }

  /** The events of one project. */
  async #look(rated: readonly RatedEvent[]): Promise<void> {
    const [project] = rated;
    if (project === undefined) return;
    const waiting = rated.map((one) => ({
      event_key: `${one.ingestion_id}:${one.event_index}`,
      value: recordOf(one).value,
    }));
    // From an event that was recorded before: it counts even if its listener would not record it any more.
    await rateTriggerEvents(this.#deps.postgres.service, project, waiting);
    const places = groupBy(rated, ({ log_id, partition }) => `${partition} ${log_id}`);
    for (const events of places.values()) {
      const [first] = events;
      if (first === undefined) continue;
      const { partition, log_id } = first;
      const records = events.map(recordOf).toSorted((a, b) => (a.offset < b.offset ? -1 : 1));
      await recordTriggerEvents(this.#deps, [this.#triggers], { partition, records, log_id });
      // Without its log it is one that was recorded: the matcher has seen it at its place.
      if (log_id !== null) await this.#matcher.lookAgain({ partition, log_id }, records);
    }
  }

  /** Whether no more is to be removed now. */
  async #prune(): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    const now_ms = clock.now_ms();
    if (now_ms < this.#pruned_ms + PRUNE_EVERY_MS) return true;
    const pruned = await pruneUnrated(postgres.service, new Date(now_ms - KEPT_MS), MAX_PRUNED);
    if (pruned === MAX_PRUNED) return false;
    this.#pruned_ms = now_ms;
    return true;
  }
}

/** The event's record, under the key that it has on the log, with its amounts in the base currency. */
export function recordOf({ project_id, value, log_offset, ...rated }: RatedEvent): LogRecord {
  const key = playerKey(project_id, playerOf(value));
  const { base_amount, base_payout, base_bonus_stake = null, base_bonus_payout = null } = rated;
  const money = { base_amount, base_payout, base_bonus_stake, base_bonus_payout };
  return { offset: log_offset, key, value: changeLine(value, money) };
}
