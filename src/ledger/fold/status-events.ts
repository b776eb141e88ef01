import { parseStoredTime } from '../../platform/timestamp.ts';
import type { EventCause } from '../../protection/exclusions/record-queries.ts';

const COOLDOWN_MS = 24 * 3_600_000;

/**
 * Changes that responsible-gaming events make to one player. The latest event by event time wins; among pauses
 * the one that ends last wins.
 */
export interface StatusChange {
  self_excluded?: { value: boolean; at_ms: number; by: EventCause };
  /** The pause that the player asked for, and when it ends. */
  cooldown?: { until_ms: number; at_ms: number; by: EventCause };
}

/** The change an event makes, or undefined. `at_ms` is the event's time, but never after it was received. */
export function statusChangeOf(
  event: string,
  properties: Record<string, unknown>,
  at_ms: number,
  by: EventCause,
): StatusChange | undefined {
  if (event === 'self_exclusion_set') return { self_excluded: { value: true, at_ms, by } };
  if (event === 'self_exclusion_lifted') return { self_excluded: { value: false, at_ms, by } };
  if (event === 'cooldown_entered')
    return { cooldown: { until_ms: cooldownEnd(properties['until'], at_ms), at_ms, by } };
  return undefined;
}

function cooldownEnd(until: unknown, at_ms: number): number {
  return (typeof until === 'string' ? parseStoredTime(until) : undefined) ?? at_ms + COOLDOWN_MS;
}

/** Changes of one player at most in a batch; further ones are joined to the last, which then has what holds in the end. */
const MAX_CHANGES = 8;

/**
 * Adds a change to those of one player, in the order of the log. Changes that set or lift an exclusion stay apart, and so do
 * breaks that end later and later, because each has a record, also when the next change comes in the same batch; others are
 * joined.
 */
export function addChange(changes: readonly StatusChange[], next: StatusChange): StatusChange[] {
  const last = changes.at(-1);
  if (last === undefined) return [next];
  const stays_apart =
    (last.self_excluded !== undefined && next.self_excluded !== undefined) ||
    (next.cooldown !== undefined && next.cooldown.until_ms > (last.cooldown?.until_ms ?? Infinity));
  if (stays_apart && changes.length < MAX_CHANGES) return [...changes, next];
  return [...changes.slice(0, -1), joinChanges(last, next)];
}

/**
 * Joins two changes of one player; `later` follows `earlier` on the log. At equal event times `later` wins, but an
 * event of the same millisecond never lifts an exclusion. A pause is never shortened.
 */
function joinChanges(earlier: StatusChange, later: StatusChange): StatusChange {
  const joined: StatusChange = { ...earlier };
  const { self_excluded, cooldown } = later;
  if (self_excluded !== undefined && supersedes(self_excluded, earlier.self_excluded))
    joined.self_excluded = self_excluded;
  if (cooldown !== undefined && cooldown.until_ms > (earlier.cooldown?.until_ms ?? -Infinity))
    joined.cooldown = cooldown;
  return joined;
}

function supersedes(next: { value: boolean; at_ms: number }, last: { at_ms: number } | undefined): boolean {
  if (last === undefined || next.at_ms > last.at_ms) return true;
  return next.at_ms === last.at_ms && next.value;
}
