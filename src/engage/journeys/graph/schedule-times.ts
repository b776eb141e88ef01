import { Cron } from 'croner';
import { TimeZone } from '../../../platform/time-zone.ts';

const DAY_MS = 86_400_000;
/** Clocks are put back by less than a day, and a pattern has a time a minute at most. */
const MAX_REPEATED = 1_440;

/**
 * The times of a crontab pattern of five fields on the clocks of a zone, in milliseconds since the epoch.
 *
 * When clocks are put forward, a time that is skipped comes at the first moment after the gap. When they are put back, a
 * time that comes twice counts the first time only, or both times where the pattern leaves the hour open, as in every 30
 * minutes.
 */
export class ScheduleTimes {
  /** It takes local times for times in UTC, so that the rules of zones stay in one place. */
  readonly #local: Cron;
  readonly #zone: TimeZone;
  readonly #is_hour_open: boolean;

  /** Throws where the pattern cannot be read or the zone does not exist. */
  constructor(pattern: string, zone: string) {
    const known = TimeZone.named(zone);
    if (known === undefined) throw new RangeError(`there is no time zone ${JSON.stringify(zone)}`);
    this.#zone = known;
    this.#local = new Cron(pattern, { mode: '5-part', timezone: 'UTC', paused: true });
    this.#is_hour_open = this.#local.getPattern()?.split(' ')[1]?.startsWith('*') ?? false;
  }

  /** The first time after `at_ms`; undefined where none comes. */
  nextAfter(at_ms: number): number | undefined {
    const next_ms = this.#nextByClock(at_ms);
    if (!this.#is_hour_open || next_ms === undefined) return next_ms;
    const change_ms = this.#zone.changeBetween(at_ms, next_ms);
    if (change_ms === undefined) return next_ms;
    // Where clocks are put back, they show times again that are before the one of `next_ms`.
    const local_ms = this.#zone.localMs(change_ms);
    const again_ms = this.#local.nextRun(new Date(local_ms - 1))?.getTime() ?? Infinity;
    return Math.min(next_ms, change_ms + again_ms - local_ms);
  }

  /** The last time up to `at_ms`, that moment included; undefined where there is none. */
  latestUpTo(at_ms: number): number | undefined {
    const ends = [this.#zone.localMs(at_ms) + 1];
    const change_ms = this.#zone.changeBetween(at_ms - DAY_MS, at_ms);
    // Before clocks were put back, they showed times that are after the present one.
    if (change_ms !== undefined) ends.push(this.#zone.localMs(change_ms - 1) + 1);
    const times = ends
      .flatMap((end_ms) => this.#local.previousRuns(1, new Date(end_ms)))
      .flatMap((local) => this.#momentsOf(local.getTime()))
      .filter((time_ms) => time_ms <= at_ms);
    return times.length === 0 ? undefined : Math.max(...times);
  }

  /** As `nextAfter`, for the clocks as they are put at `at_ms`. */
  #nextByClock(at_ms: number): number | undefined {
    let local = this.#local.nextRun(new Date(this.#zone.localMs(at_ms)));
    for (let passed = 0; local !== null && passed < MAX_REPEATED; passed++) {
      const next_ms = this.#momentsOf(local.getTime()).find((time_ms) => time_ms > at_ms);
      if (next_ms !== undefined) return next_ms;
      local = this.#local.nextRun(local);
    }
    return undefined;
  }

  /** When a local time counts, the first moment first. */
  #momentsOf(local_ms: number): number[] {
    const { first_ms, second_ms } = this.#zone.momentsOf(local_ms);
    return this.#is_hour_open ? [first_ms, second_ms] : [first_ms];
  }
}
