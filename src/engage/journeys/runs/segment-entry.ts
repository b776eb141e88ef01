import type { LogBatch } from '../../../platform/event-log/port.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import type { SegmentChange } from '../../../segments/publish-changes.ts';
import type { Platform } from '../../../platform/platform.ts';
import { Definitions } from './definitions.ts';
import { countEntries, enter, type Entrant } from './entry.ts';
import { endByExit } from './write-matches.ts';
import { noteJourneyError, selectSegmentJourneys, type LiveJourney } from './journey-queries.ts';
import { selectLeaving } from './match-queries.ts';
import { versionKey } from './run-row.ts';
import { countsEvents, noteWaitStarts } from './wait-starts.ts';

type Deps = Pick<Platform, 'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics'>;

/** Players that one transaction lets enter. */
const MAX_ENTRANTS = 1_000;

/** Starts runs of the journeys that players enter by entering or leaving a segment, and ends those that this ends. */
export class SegmentEntry {
  readonly #deps: Deps;
  readonly #definitions = new Definitions();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Handles a batch of the topic `segment-changes`. Handling it again starts nothing twice: a run keeps the change that
   * has started it. A change counts for journeys that were activated before it.
   */
  async handle({ records }: Pick<LogBatch, 'records'>): Promise<void> {
    const changes = records.map(({ value }) => JSON.parse(value) as SegmentChange);
    const projects = new Map(changes.map((change) => [change.project_id, change]));
    const { postgres } = this.#deps;
    const live = await selectSegmentJourneys(postgres.service, [...projects.values()]);
    const versions = await this.#definitions.load(postgres.service, live);
    for (const journey of live) await this.#enter(journey, versions, changes);
    // After the entries: who has entered and left within a batch has a run that ends.
    await this.#endRuns(changes.filter(({ change }) => change === 'left'));
  }

  /** Ends the runs whose `exit_on` names a segment that their player has left. */
  async #endRuns(leaving: readonly SegmentChange[]): Promise<void> {
    const { postgres, clock, metrics } = this.#deps;
    if (leaving.length === 0) return;
    const runs = await selectLeaving(postgres.service, leaving);
    for (let from = 0; from < runs.length; from += MAX_ENTRANTS) {
      const exits = runs
        .slice(from, from + MAX_ENTRANTS)
        .map((run) => ({ ...run, outcome: 'exited' as const }));
      const ended = await retryConflicts(() =>
        postgres.service.begin((tx) => endByExit(tx, exits, new Date(clock.now_ms()))),
      );
      metrics.journeyMatches.inc({ outcome: 'ended' }, ended);
    }
  }

  async #enter(
    journey: LiveJourney,
    versions: Awaited<ReturnType<Definitions['load']>>,
    changes: readonly SegmentChange[],
  ): Promise<void> {
    const { postgres, eventLog, clock, logger, metrics } = this.#deps;
    const { tenant_id, project_id, journey_id, version, activated_at } = journey;
    const loaded = versions.get(versionKey(journey));
    if (loaded?.definition === undefined) {
      const reason = loaded?.unreadable ?? 'it is unknown';
      await noteJourneyError(postgres.service, journey, `version ${version} cannot be read: ${reason}`);
      logger.error(
        { journey_id, version, reason },
        'players cannot enter: the version of the journey cannot be read',
      );
      return;
    }
    const { definition } = loaded;
    const { trigger } = definition;
    if (trigger.kind !== 'segment_entered' && trigger.kind !== 'segment_exited') return;
    const wanted = trigger.kind === 'segment_entered' ? 'entered' : 'left';
    const entrants = changes
      .filter(
        (change) =>
          change.tenant_id === tenant_id &&
          change.project_id === project_id &&
          change.segment_id === trigger.segment_id &&
          change.change === wanted &&
          change.changed_at_ms >= activated_at.getTime(),
      )
      .map(({ player_id, change_id }): Entrant => {
        const context = { trigger_payload: {} };
        return { player_id, trigger_key: `change ${change_id}`, trigger: { kind: trigger.kind }, context };
      });
    for (let from = 0; from < entrants.length; from += MAX_ENTRANTS) {
      const part = entrants.slice(from, from + MAX_ENTRANTS);
      // What the players do from now on counts for their runs, also before these are visible.
      const starts = countsEvents(definition) ? await noteWaitStarts(eventLog) : undefined;
      const entry = { version: { tenant_id, project_id, journey_id, version }, definition, starts };
      const entered = await retryConflicts(() =>
        postgres.service.begin((tx) => enter(tx, { ...entry, now: new Date(clock.now_ms()) }, part)),
      );
      countEntries(metrics, entered);
    }
  }
}
