import { BackOff } from '../../../platform/back-off.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { retryConflicts } from '../../../platform/postgres/retry.ts';
import type { Platform } from '../../../platform/platform.ts';
import { ScheduleTimes } from '../graph/schedule-times.ts';
import type { Definition, Trigger } from '../graph/shapes.ts';
import {
  cutRange,
  endRange,
  entryOfMembers,
  EXISTING_MEMBERS,
  hasOccasion,
  insertEntry,
  selectAudienceJourneys,
  audienceWork,
  selectRangeMembers,
  shortenRange,
  takeRange,
  type Range,
} from './audience-queries.ts';
import { Definitions } from './definitions.ts';
import { countEntries } from './entry-metrics.ts';
import { enter, type Entered, type Entrant } from './entry.ts';
import { selectJourney, type JourneyKey, type LiveJourney } from './journey-queries.ts';
import { versionKey } from './run-row.ts';
import { countsEvents, StartNotes, StartsMissing, type WaitStarts } from './wait-starts.ts';

type Deps = Pick<Platform, 'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics'>;

/** How often schedules and activations are looked at. */
export const PLAN_EVERY_MS = 5_000;
/** Ranges that enter beside each other: while Postgres writes the runs of one, this process makes those of the other. */
const BESIDE = 2;

/** Lets the players of a segment enter journeys together: by a schedule, or those who are members at the activation. */
export class AudienceEntry {
  readonly #deps: Deps;
  readonly #definitions = new Definitions();
  readonly #back_off = new BackOff();
  readonly #starts: StartNotes;
  #planned_ms = Number.NEGATIVE_INFINITY;
  #last: JourneyKey | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#starts = new StartNotes(deps);
  }

  /**
   * Begins entries that are due, and lets ranges of players enter, {@link BESIDE} beside each other; false when no range
   * waits. A range is one transaction, so that an entry that was interrupted goes on; journeys take turns. It is cut from
   * the audience in that transaction, too. A journey whose range fails or is above its `max_entries_per_hour` backs off,
   * and the others go on.
   */
  async turn(): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    if (clock.now_ms() >= this.#planned_ms + PLAN_EVERY_MS) {
      this.#planned_ms = clock.now_ms();
      await this.#plan();
    }
    const now = new Date(clock.now_ms());
    if ((await audienceWork(postgres.service, now)).length === 0) return false;
    const ranges = await Promise.allSettled(Array.from({ length: BESIDE }, () => this.#enterRange()));
    for (const range of ranges) if (range.status === 'rejected') throw range.reason;
    return ranges.some((range) => range.status === 'fulfilled' && range.value);
  }

  /** False when no range waits that nobody else holds. */
  async #enterRange(): Promise<boolean> {
    const { postgres, logger, metrics } = this.#deps;
    let taken: Range | undefined;
    try {
      const entered = await retryConflicts(async () => {
        const starts = await this.#starts.take();
        return postgres.service.begin(async (tx) => {
          taken = await takeRange(tx, this.#last, this.#back_off.keys());
          if (taken === undefined) return undefined;
          this.#last = taken;
          return this.#enter(tx, taken, starts);
        });
      });
      if (taken === undefined) return false;
      if (entered !== undefined) countEntries(metrics, { ...entered, limited: 0 });
      if (entered !== undefined && entered.limited > 0) this.#back_off.begin(taken.journey_id);
      return true;
    } catch (error) {
      if (taken === undefined) throw error;
      if (error instanceof StartsMissing && this.#starts.need()) return true;
      const { journey_id } = taken;
      this.#back_off.begin(journey_id);
      logger.warn({ err: error, journey_id }, 'a range of players could not enter; the journey backs off');
      return true;
    }
  }

  /** Lets the next turn look at schedules and activations: a journey was activated. */
  planSoon(): void {
    this.#planned_ms = Number.NEGATIVE_INFINITY;
  }

  /** Undefined: the journey takes nobody in any more, and the range is done. */
  async #enter(tx: Tx, taken: Range, starts: WaitStarts | undefined): Promise<Entered | undefined> {
    const now = new Date(this.#deps.clock.now_ms());
    const live = await this.#live(tx, taken);
    if (live === undefined) {
      await endRange(tx, taken);
      return undefined;
    }
    // Before anything is written: the range waits until it is known where the log ends.
    if (starts === undefined && countsEvents(live.definition)) throw new StartsMissing();
    const { segment_id } = live.trigger;
    if (isOfMembers(taken) && !isEntryOf(taken, live.trigger)) {
      // The trigger was given another segment meanwhile, or takes in no existing members any more.
      await endRange(tx, taken);
      return undefined;
    }
    const range = await cutRange(tx, taken, segment_id);
    const members = await selectRangeMembers(tx, range, segment_id);
    const trigger_key = isOfMembers(range) ? EXISTING_MEMBERS : range.occasion;
    const entrants = members.map(({ player_id }): Entrant => {
      const { kind } = live.trigger;
      return { player_id, trigger_key, trigger: { kind }, context: { trigger_payload: {} } };
    });
    const { version, definition } = live;
    const entry = { version: { ...range, version }, definition, now, starts, members_of: segment_id };
    const entered = await enter(tx, entry, entrants);
    // Those above the cap enter when there is room again.
    const first_left = members[members.length - entered.limited];
    if (first_left === undefined) await endRange(tx, range);
    else if (first_left.player_id !== range.from_player_id) {
      await shortenRange(tx, range, first_left.player_id);
    }
    return entered;
  }

  async #live(tx: Tx, ref: JourneyKey) {
    const journey = await selectJourney(tx, ref);
    if (journey?.status !== 'active' || journey.deleted_at !== null || journey.version === null)
      return undefined;
    const of = { ...ref, version: journey.version };
    const loaded = (await this.#definitions.load(tx, [of])).get(versionKey(of));
    if (loaded?.definition === undefined) throw new Error(`version ${journey.version} cannot be read`);
    const { definition } = loaded;
    const { trigger } = definition;
    if (!hasAudience(trigger)) return undefined;
    return { version: journey.version, definition, trigger };
  }

  /** Begins the entries that are due. */
  async #plan(): Promise<void> {
    const { postgres, clock, logger } = this.#deps;
    const live = await selectAudienceJourneys(postgres.service);
    const versions = await this.#definitions.load(postgres.service, live);
    for (const journey of live) {
      const definition = versions.get(versionKey(journey))?.definition;
      const due = definition && occasionOf(definition, journey, clock.now_ms());
      if (due === undefined) continue;
      try {
        if (await hasOccasion(postgres.service, journey, due.occasion)) continue;
        await insertEntry(postgres.service, journey, due.occasion, due.members_before);
      } catch (error) {
        const { journey_id } = journey;
        logger.warn(
          { err: error, journey_id },
          'the entry of an audience could not be begun; it is repeated',
        );
      }
    }
  }
}

type AudienceTrigger = Extract<Trigger, { segment_id: string }>;

function hasAudience(trigger: Trigger): trigger is AudienceTrigger {
  return 'segment_id' in trigger;
}

/**
 * The latest entry that is due; occurrences that were missed while nothing ran are one entry. Existing members are those of
 * the activation: later ones enter by the change of their membership.
 */
function occasionOf(
  { trigger }: Definition,
  { activated_at }: LiveJourney,
  now_ms: number,
): { occasion: string; members_before: Date | null } | undefined {
  if (trigger.kind === 'segment_entered' && trigger.existing_members) {
    return { occasion: entryOfMembers(trigger.segment_id), members_before: activated_at };
  }
  if (trigger.kind !== 'schedule') return undefined;
  const at_ms = new ScheduleTimes(trigger.cron, trigger.timezone).latestUpTo(now_ms);
  if (at_ms === undefined || at_ms < activated_at.getTime()) return undefined;
  return { occasion: `schedule ${new Date(at_ms).toISOString()}`, members_before: null };
}

const isOfMembers = ({ occasion }: Range) => occasion.startsWith(EXISTING_MEMBERS);

/** Whether the range is of the existing members that the trigger takes in. */
function isEntryOf({ occasion }: Range, trigger: AudienceTrigger): boolean {
  const takes = trigger.kind === 'segment_entered' && trigger.existing_members;
  return takes && occasion === entryOfMembers(trigger.segment_id);
}
