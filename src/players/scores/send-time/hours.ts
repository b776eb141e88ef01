/** Hours of a week. An hour of the week is a number from 0, Monday from 00:00 to 01:00, to 167. */
export const HOURS = 168;
/** With fewer sessions a player has no hours of their own. */
export const MIN_SESSIONS = 5;
/** The most sessions that are counted for an hour: one byte. */
const MAX_COUNT = 255;
const HOUR_MS = 3_600_000;
/** 1970-01-01 was a Thursday. */
const HOURS_BEFORE_EPOCH = 72;

/** In how many sessions each hour of the week has begun; an hour that is absent has none. */
export type HourCounts = ReadonlyMap<number, number>;

/** What is known about all players of a project. */
export interface SendTimeParameters {
  /** How many sessions of their own count as much as the profile. Positive. */
  weight: number;
  /** The share of all sessions that begin in each hour of the week; together 1, each positive. */
  profile: readonly number[];
}

/** The hour of the week of a moment by the clock; `local_ms` is what the clock shows, as if it were UTC. */
export function hourOfWeek(local_ms: number): number {
  return (Math.floor(local_ms / HOUR_MS) + HOURS_BEFORE_EPOCH) % HOURS;
}

/** How often each of these hours occurs; at most 255 of an hour are counted. */
export function countHours(hours: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const hour of hours) counts.set(hour, Math.min((counts.get(hour) ?? 0) + 1, MAX_COUNT));
  return counts;
}

/** How many sessions are counted. */
export function sessionsOf(counts: HourCounts): number {
  let sessions = 0;
  for (const count of counts.values()) sessions += count;
  return sessions;
}

/**
 * The chance that the next session of a player begins in the hour: (own sessions in it + weight × profile) ÷ (own sessions +
 * weight). `sessions` are those of `counts`.
 */
export function chanceOfHour(
  { weight, profile }: SendTimeParameters,
  counts: HourCounts,
  sessions: number,
  hour: number,
): number {
  return ((counts.get(hour) ?? 0) + weight * (profile[hour] ?? 0)) / (sessions + weight);
}

/** By how much the chances by two counts differ: half the sum of the differences over all hours, 0 … 1. */
export function distanceOf(parameters: SendTimeParameters, a: HourCounts, b: HourCounts): number {
  const [of_a, of_b] = [sessionsOf(a), sessionsOf(b)];
  let sum = 0;
  for (let hour = 0; hour < HOURS; hour++)
    sum += Math.abs(chanceOfHour(parameters, a, of_a, hour) - chanceOfHour(parameters, b, of_b, hour));
  return sum / 2;
}

/** The counts as they are stored: a byte for each hour and one for its sessions, in the order of the hours. */
export function packHours(counts: HourCounts): Buffer {
  return Buffer.from([...counts].toSorted(([a], [b]) => a - b).flat());
}

/** Counts that {@link packHours} has packed. */
export function unpackHours(packed: Uint8Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (let i = 0; i + 1 < packed.length; i += 2) counts.set(packed[i] ?? 0, packed[i + 1] ?? 0);
  return counts;
}
