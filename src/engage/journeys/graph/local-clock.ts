import { BoundedCache } from '../../../platform/bounded-cache.ts';
import type { IANAZone } from 'luxon';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Days (in UTC) of which a clock remembers the offsets. */
const MAX_DAYS = 100;

/** A day in UTC: its offset until `change_ms`, and from then on. Without a change, `change_ms` is infinite. */
interface DayOffsets {
  before_ms: number;
  change_ms: number;
  after_ms: number;
}

/**
 * The clocks of a time zone. Asking the library for an offset takes ten microseconds, so each day is asked for once:
 * offsets change once in two days at most, and at full minutes.
 */
export class LocalClock {
  readonly #zone: IANAZone;
  readonly #days = new BoundedCache<number, DayOffsets>({ max: MAX_DAYS });

  constructor(zone: IANAZone) {
    this.#zone = zone;
  }

  get name(): string {
    return this.#zone.name;
  }

  /** What the clocks show, as if it were UTC. */
  localMs(at_ms: number): number {
    return at_ms + this.#offset(at_ms);
  }

  /** When the clocks show a time: the first and the last moment; both are the first one after a gap that skips it. */
  momentsOf(local_ms: number): { first_ms: number; second_ms: number } {
    const [before_ms, after_ms] = [this.#offset(local_ms - DAY_MS), this.#offset(local_ms + DAY_MS)];
    const first_ms = local_ms - before_ms;
    const second_ms = local_ms - after_ms;
    if (before_ms === after_ms) return { first_ms, second_ms };
    const is_first = this.#offset(first_ms) === before_ms;
    const is_second = this.#offset(second_ms) === after_ms;
    if (is_first && is_second) return { first_ms, second_ms };
    if (is_first) return { first_ms, second_ms: first_ms };
    if (is_second) return { first_ms: second_ms, second_ms };
    const change_ms = this.changeBetween(local_ms - DAY_MS, local_ms + DAY_MS) ?? first_ms;
    return { first_ms: change_ms, second_ms: change_ms };
  }

  /** The first change of the offset after `from_ms`, up to `to_ms`. */
  changeBetween(from_ms: number, to_ms: number): number | undefined {
    for (let day = Math.floor(from_ms / DAY_MS); day * DAY_MS <= to_ms; day++) {
      const { change_ms } = this.#day(day);
      if (change_ms > from_ms && change_ms <= to_ms) return change_ms;
    }
    return undefined;
  }

  #offset(at_ms: number): number {
    const { before_ms, change_ms, after_ms } = this.#day(Math.floor(at_ms / DAY_MS));
    return at_ms < change_ms ? before_ms : after_ms;
  }

  /** `day`: since 1970-01-01. A change at its first moment belongs to it, so it is compared with the minute before. */
  #day(day: number): DayOffsets {
    let offsets = this.#days.get(day);
    if (offsets === undefined) {
      offsets = this.#ask(day * DAY_MS - MINUTE_MS, (day + 1) * DAY_MS - MINUTE_MS);
      this.#days.set(day, offsets);
    }
    return offsets;
  }

  #ask(from_ms: number, to_ms: number): DayOffsets {
    const asked = (at_ms: number) => this.#zone.offset(at_ms) * MINUTE_MS;
    const [before_ms, after_ms] = [asked(from_ms), asked(to_ms)];
    if (before_ms === after_ms) return { before_ms, change_ms: Infinity, after_ms };
    let [same, other] = [from_ms / MINUTE_MS, to_ms / MINUTE_MS];
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2);
      if (asked(middle * MINUTE_MS) === before_ms) same = middle;
      else other = middle;
    }
    return { before_ms, change_ms: other * MINUTE_MS, after_ms };
  }
}
