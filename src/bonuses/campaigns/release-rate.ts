/** Unused time of a rate is kept for so long: the largest burst is what the rate gives in it. */
const BURST_MS = 250;

/** What is known when grants are to be released. */
export interface ReleaseState {
  now_ms: number;
  /** Up to when the rate is used; null: it was not used yet. */
  released_to_ms: number | null;
  /** So many at most. */
  room: number;
  /** Released ones that are due, and not called. */
  waiting: number;
}

/**
 * How many grants a rate allows now; from `start_ms` on each of them uses `each_ms` of it. Nothing is released while the
 * sender is behind by a burst, so that it never makes up for lost time. `rate_per_second` null: as many as there is room.
 */
export function releasable(
  rate_per_second: number | null,
  { now_ms, released_to_ms, room, waiting }: ReleaseState,
): { count: number; start_ms: number; each_ms: number } {
  if (rate_per_second === null) return { count: Math.max(0, room), start_ms: now_ms, each_ms: 0 };
  const each_ms = 1_000 / rate_per_second;
  const start_ms = Math.max(released_to_ms ?? -Infinity, now_ms - Math.max(BURST_MS, each_ms));
  const burst = Math.max(1, Math.floor(BURST_MS / each_ms));
  const allowed = Math.floor((now_ms - start_ms) / each_ms);
  return { count: Math.max(0, Math.min(allowed, room, burst - waiting)), start_ms, each_ms };
}

/** When a member who is released out of turn is sent, and up to when the rate is used then: it gets the next share. */
export function nextShare(
  rate_per_second: number | null,
  { now_ms, released_to_ms }: Pick<ReleaseState, 'now_ms' | 'released_to_ms'>,
): { due_ms: number; used_to_ms: number } {
  if (rate_per_second === null) return { due_ms: now_ms, used_to_ms: now_ms };
  const each_ms = 1_000 / rate_per_second;
  const used_to_ms = Math.max(released_to_ms ?? -Infinity, now_ms - Math.max(BURST_MS, each_ms)) + each_ms;
  return { due_ms: Math.max(now_ms, used_to_ms), used_to_ms };
}

/** Up to when a rate is used once so many shares are given back that no call has used. */
export function withoutShares(
  rate_per_second: number | null,
  released_to_ms: number,
  shares: number,
): number {
  return rate_per_second === null ? released_to_ms : released_to_ms - (shares * 1_000) / rate_per_second;
}
