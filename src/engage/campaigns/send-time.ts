import { TimeZone, UTC_ZONE } from '../../platform/time-zone.ts';
import {
  chanceOfHour,
  hourOfWeek,
  sessionsOf,
  unpackHours,
  type SendTimeParameters,
} from '../../players/scores/send-time/hours.ts';
import { isInShare } from '../experiments/draw.ts';
import type { TenantQuietHours } from '../messaging/gate-queries.ts';
import { isQuiet, quietUntilMs } from '../messaging/quiet-hours.ts';

/** Of those who have an hour of their own, in percent: so many are sent to at once, to be compared with the others. */
export const PLAIN_PERCENT = 10;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What the hours of members are chosen by. */
export interface SendTimeRules {
  parameters: SendTimeParameters;
  /** Of players without a zone. */
  zone: TimeZone;
  quiet_hours: TenantQuietHours | null;
  /** When the sending of the campaign began; each hour is in the 24 hours from then. */
  started_ms: number;
  /** Nothing is due before; 24 hours after the start or later: nobody has an hour any more. */
  now_ms: number;
}

/** What is known about the hours of a member. */
export interface TimedMember {
  player_id: string;
  /** Null: the player has none. */
  timezone: string | null;
  /** The hours of the player's sessions, packed; null: fewer than five. */
  session_hours: Uint8Array | null;
}

/** When a message is due. */
export interface Timing {
  /** Null: at once. */
  due_at: Date | null;
  /** In which arm of the comparison of times the player is; null: in none. */
  is_own_hour: boolean | null;
}

/** At once, and not compared. */
export const AT_ONCE: Timing = { due_at: null, is_own_hour: null };

/** An hour of the week within the 24 hours: the first moment of it at which a message may go out. */
export interface Slot {
  hour: number;
  due_ms: number;
}

/**
 * The hours of the week that the clock of the zone shows from `from_ms` (included) to `until_ms` (not included), in the order of
 * time, without those that are quiet throughout. Where the clock is put back, an hour has two slots; an hour that it skips
 * has none. `quiet_zone` is the zone by which it is quiet.
 */
export function slotsOf(
  zone: TimeZone,
  from_ms: number,
  until_ms: number,
  quiet?: { rules: TenantQuietHours; zone: string },
): Slot[] {
  const slots: Slot[] = [];
  for (let at_ms = from_ms; at_ms < until_ms;) {
    const local_ms = zone.localMs(at_ms);
    const full_ms = at_ms + HOUR_MS - (((local_ms % HOUR_MS) + HOUR_MS) % HOUR_MS);
    const end_ms = Math.min(zone.changeBetween(at_ms, full_ms) ?? full_ms, until_ms);
    const due_ms =
      quiet !== undefined && isQuiet(quiet.rules, quiet.zone, at_ms)
        ? quietUntilMs(quiet.rules, quiet.zone, at_ms)
        : at_ms;
    if (due_ms < end_ms) slots.push({ hour: hourOfWeek(local_ms), due_ms });
    at_ms = end_ms;
  }
  return slots;
}

/** The own hour of each member, in milliseconds since the epoch; undefined: the member has none. */
export function ownHours(
  rules: SendTimeRules,
): (member: Omit<TimedMember, 'player_id'>) => number | undefined {
  const { parameters, quiet_hours, started_ms, now_ms } = rules;
  const from_ms = Math.max(started_ms, now_ms);
  // Members of a range share few zones.
  const of_zones = new Map<string | null, Slot[]>();
  const slotsIn = (timezone: string | null) => {
    const known = of_zones.get(timezone);
    if (known !== undefined) return known;
    const zone = timezone === null ? rules.zone : (TimeZone.named(timezone) ?? UTC_ZONE);
    const quiet = quiet_hours && { rules: quiet_hours, zone: timezone ?? quiet_hours.default_timezone };
    const slots = slotsOf(zone, from_ms, started_ms + DAY_MS, quiet ?? undefined);
    of_zones.set(timezone, slots);
    return slots;
  };
  return ({ timezone, session_hours }) => {
    if (session_hours === null) return undefined;
    const counts = unpackHours(session_hours);
    const sessions = sessionsOf(counts);
    let best: { due_ms: number; chance: number } | undefined;
    for (const { hour, due_ms } of slotsIn(timezone)) {
      const chance = chanceOfHour(parameters, counts, sessions, hour);
      // Of hours with the same chance the first one.
      if (best === undefined || chance > best.chance) best = { due_ms, chance };
    }
    return best?.due_ms;
  };
}

/** Whether the member is one of those who are sent to at once, to be compared: always the same of a campaign. */
export function isAtPlainTime(campaign_id: string, player_id: string): boolean {
  return isInShare(`send_time:${campaign_id}:${player_id}`, PLAIN_PERCENT);
}

/**
 * When the message to each member is due. Members in quiet hours are not compared: at the plain time they would get nothing.
 * Neither are service messages, which all are sent at the own hour.
 */
export function timings(
  campaign_id: string,
  rules: SendTimeRules,
): (member: TimedMember, variant: { is_service: boolean }) => Timing {
  const ownHourOf = ownHours(rules);
  const { quiet_hours, now_ms } = rules;
  return (member, { is_service }) => {
    const own_ms = ownHourOf(member);
    if (own_ms === undefined) return AT_ONCE;
    const due_at = own_ms <= now_ms ? null : new Date(own_ms);
    if (is_service || isQuietFor(member, quiet_hours, now_ms)) return { due_at, is_own_hour: null };
    if (isAtPlainTime(campaign_id, member.player_id)) return { due_at: null, is_own_hour: false };
    return { due_at, is_own_hour: true };
  };
}

function isQuietFor(
  { timezone }: TimedMember,
  quiet_hours: TenantQuietHours | null,
  now_ms: number,
): boolean {
  return quiet_hours !== null && isQuiet(quiet_hours, timezone ?? quiet_hours.default_timezone, now_ms);
}
