import type { Tx } from '../../../platform/postgres/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import { ScheduleTimes } from '../graph/schedule-times.ts';
import type { Definition, Trigger } from '../graph/shapes.ts';
import { MemberRanges } from '../../member-ranges/member-ranges.ts';
import { cutRange, EVERYBODY, insertRange, type MemberRange } from '../../member-ranges/range-queries.ts';
import {
  audienceWork,
  beginOccasion,
  entryOfMembers,
  EXISTING_MEMBERS,
  hasOccasion,
  JOURNEY_RANGES,
  selectAudienceJourneys,
  selectRangeMembers,
} from './audience-queries.ts';
import { Definitions } from './definitions.ts';
import { countEntries, enter, type Entered, type Entrant } from './entry.ts';
import { selectJourney, type JourneyKey, type LiveJourney } from './journey-queries.ts';
import { versionKey } from './run-row.ts';
import { countsEvents, StartNotes, type WaitStarts } from './wait-starts.ts';

type Deps = Pick<Platform, 'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics'>;

/** How often schedules and activations are looked at. */
export const PLAN_EVERY_MS = 5_000;
/** Ranges that enter at a time: while Postgres writes the runs of one, this process makes those of the other. */
const PARALLEL = 2;

/** Lets the players of a segment enter journeys together: by a schedule, or those who are members at the activation. */
export class AudienceEntry {
  readonly #deps: Deps;
  readonly #definitions = new Definitions();
  readonly #ranges: MemberRanges;
  readonly #starts: StartNotes;
  #planned_ms = Number.NEGATIVE_INFINITY;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#ranges = new MemberRanges(deps, JOURNEY_RANGES);
    this.#starts = new StartNotes(deps);
  }

  /**
   * Begins entries that are due, and lets ranges of players enter, {@link PARALLEL} at a time; false when no range waits.
   * A journey that is above its `max_entries_per_hour` has no turn for a while.
   */
  async turn(): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    if (clock.now_ms() >= this.#planned_ms + PLAN_EVERY_MS) {
      this.#planned_ms = clock.now_ms();
      await this.#plan();
    }
    const now = new Date(clock.now_ms());
    if ((await audienceWork(postgres.service, now)).length === 0) return false;
    const ranges = await Promise.allSettled(Array.from({ length: PARALLEL }, () => this.#enterRange()));
    for (const range of ranges) if (range.status === 'rejected') throw range.reason;
    return ranges.some((range) => range.status === 'fulfilled' && range.value);
  }

  /** False when no range waits that nobody else holds. */
  async #enterRange(): Promise<boolean> {
    let entered: Entered | undefined;
    const outcome = await this.#ranges.turn(async () => {
      entered = undefined;
      const starts = await this.#starts.take();
      return async (tx, range) => {
        const result = await this.#enter(tx, range, starts);
        if (typeof result === 'string') return result;
        entered = result;
        return entered.limited > 0 ? 'rest' : 'done';
      };
    });
    if (outcome === 'worked' && entered !== undefined)
      countEntries(this.#deps.metrics, { ...entered, limited: 0 });
    return outcome !== 'none';
  }

  /** Lets the next turn look at schedules and activations: a journey was activated. */
  planSoon(): void {
    this.#planned_ms = Number.NEGATIVE_INFINITY;
  }

  /** A text: nobody enters now. The range is done, or waits again. */
  async #enter(
    tx: Tx,
    taken: MemberRange,
    starts: WaitStarts | undefined,
  ): Promise<Entered | 'done' | 'rest'> {
    const now = new Date(this.#deps.clock.now_ms());
    const ref = { ...taken, journey_id: taken.owner_id };
    const live = await this.#live(tx, ref);
    if (live === undefined) return 'done';
    if (starts === undefined && countsEvents(live.definition)) {
      await insertRange(tx, JOURNEY_RANGES, taken);
      return this.#starts.need() ? 'done' : 'rest';
    }
    const { segment_id } = live.trigger;
    // The trigger was given another segment meanwhile, or takes in no existing members any more.
    if (isOfMembers(taken) && !isEntryOf(taken, live.trigger)) return 'done';
    const range = await cutRange(tx, JOURNEY_RANGES, taken, segment_id);
    const members = await selectRangeMembers(tx, range, segment_id);
    const trigger_key = isOfMembers(range) ? EXISTING_MEMBERS : range.occasion;
    const entrants = members.map(({ player_id }): Entrant => {
      const { kind } = live.trigger;
      return { player_id, trigger_key, trigger: { kind }, context: { trigger_payload: {} } };
    });
    const { version, definition } = live;
    const entry = { version: { ...ref, version }, definition, now, starts, members_of: segment_id };
    const entered = await enter(tx, entry, entrants);
    // Those above the cap enter when there is room again.
    const first_left = members[members.length - entered.limited];
    if (first_left !== undefined) {
      await insertRange(tx, JOURNEY_RANGES, { ...range, from_player_id: first_left.player_id });
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
        await postgres.service.begin((tx) => beginEntry(tx, journey, due));
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

/** The entry of an audience: its name, and since before when its members are members; null: all of them enter. */
interface Occasion {
  occasion: string;
  members_before: Date | null;
}

/**
 * Begins the entry of the members of a segment with one range of all of them, which is cut when it is taken: no statement
 * grows with the segment. Beginning an entry again changes nothing.
 */
export async function beginEntry(tx: Tx, journey: JourneyKey, entry: Occasion): Promise<void> {
  if (!(await beginOccasion(tx, journey, entry.occasion))) return;
  const { tenant_id, project_id, journey_id: owner_id } = journey;
  await insertRange(tx, JOURNEY_RANGES, { tenant_id, project_id, owner_id, ...entry, ...EVERYBODY });
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
): Occasion | undefined {
  if (trigger.kind === 'segment_entered' && trigger.existing_members) {
    return { occasion: entryOfMembers(trigger.segment_id), members_before: activated_at };
  }
  if (trigger.kind !== 'schedule') return undefined;
  const at_ms = new ScheduleTimes(trigger.cron, trigger.timezone).latestUpTo(now_ms);
  if (at_ms === undefined || at_ms < activated_at.getTime()) return undefined;
  return { occasion: `schedule ${new Date(at_ms).toISOString()}`, members_before: null };
}

const isOfMembers = ({ occasion }: MemberRange) => occasion.startsWith(EXISTING_MEMBERS);

/** Whether the range is of the existing members that the trigger takes in. */
function isEntryOf({ occasion }: MemberRange, trigger: AudienceTrigger): boolean {
  const takes = trigger.kind === 'segment_entered' && trigger.existing_members;
  return takes && occasion === entryOfMembers(trigger.segment_id);
}
