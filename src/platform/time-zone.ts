import { IANAZone } from 'luxon';
import moment from 'moment-timezone';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Twice the longest name of the database. */
const MAX_NAME = 64;
/** At most one for each name of the database. */
const ZONES = new Map<string, TimeZone>();

/** Until when each offset of a zone is valid, in milliseconds since the epoch, the last for ever; which one is at a time. */
type Rules = Pick<NonNullable<ReturnType<typeof moment.tz.zone>>, 'name' | 'utcOffset' | 'untils'>;

/**
 * A time zone of the IANA database. Its rules come from a package that follows the releases of the database. The rules
 * in Node and in Postgres are as old as their builds, and differ from each other: nothing else asks for them.
 */
export class TimeZone extends IANAZone {
  readonly #rules: Rules;

  private constructor(rules: Rules) {
    super(rules.name);
    this.#rules = rules;
  }

  /** The zone of a name such as `Europe/Malta`, in any letter case; undefined where the database has no such name. */
  static named(name: string): TimeZone | undefined {
    if (name.length > MAX_NAME) return undefined;
    const lower = name.toLowerCase();
    const known = ZONES.get(lower);
    if (known !== undefined) return known;
    const rules = moment.tz.zone(lower);
    // The package takes `_` and `/` for the same character.
    if (rules === null || rules.name.toLowerCase() !== lower) return undefined;
    const zone = new TimeZone(rules);
    ZONES.set(lower, zone);
    return zone;
  }

  /** Minutes by which the clocks are ahead of UTC. */
  override offset(at_ms: number): number {
    return 0 - this.#rules.utcOffset(at_ms);
  }

  /** What the clocks show, as if it were UTC. */
  localMs(at_ms: number): number {
    return at_ms + this.offset(at_ms) * MINUTE_MS;
  }

  /** When the clocks show a time: the first and the last moment; both are the first one after a gap that skips it. */
  momentsOf(local_ms: number): { first_ms: number; second_ms: number } {
    const first_ms = local_ms - this.offset(local_ms - DAY_MS) * MINUTE_MS;
    const second_ms = local_ms - this.offset(local_ms + DAY_MS) * MINUTE_MS;
    if (first_ms === second_ms) return { first_ms, second_ms };
    const is_first = this.localMs(first_ms) === local_ms;
    const is_second = this.localMs(second_ms) === local_ms;
    if (is_first && is_second) return { first_ms, second_ms };
    if (is_first) return { first_ms, second_ms: first_ms };
    if (is_second) return { first_ms: second_ms, second_ms };
    const change_ms = this.changeBetween(local_ms - DAY_MS, local_ms + DAY_MS) ?? first_ms;
    return { first_ms: change_ms, second_ms: change_ms };
  }

  /** The first change of the clocks after `from_ms`, up to `to_ms`. */
  changeBetween(from_ms: number, to_ms: number): number | undefined {
    const change_ms = this.#rules.untils.find((until_ms) => until_ms > from_ms) ?? Infinity;
    return change_ms <= to_ms ? change_ms : undefined;
  }
}

/** The zone `UTC`. */
export const UTC_ZONE = utc();

function utc(): TimeZone {
  const zone = TimeZone.named('UTC');
  if (zone === undefined) throw new Error('the time zones have no UTC');
  return zone;
}

/** Whether the text names a zone of the IANA database; offsets such as `+02:00` do not. */
export function isTimeZone(text: string): boolean {
  return TimeZone.named(text) !== undefined;
}

/** The release of the IANA database whose rules are used, such as `2026f`. */
export function timeZoneRelease(): string {
  return moment.tz.dataVersion;
}

/**
 * Whether a release such as `2026f` may be older than a year at `now_ms`. The name says the year, and by its letter how many
 * releases of the year came before. They are about two months apart.
 */
export function isOldRelease(release: string, now_ms: number): boolean {
  const months = 2 * (release.charCodeAt(4) - 'a'.charCodeAt(0));
  return now_ms > Date.UTC(Number(release.slice(0, 4)) + 1, months);
}
