/**
 * The delay between the append of an event that protects a player and its 202, in milliseconds. Code that looked at the
 * player before the append may act on it for this long, and no longer: so nothing of it begins after the 202 (bonuses,
 * "An exclusion counts from its 202"). Longer than the fold usually lags, short for the player who waits.
 */
export const DEPARTURE_MS = 250;

/** Events after which a player may be granted nothing. */
const PROTECTING: ReadonlySet<unknown> = new Set(['self_exclusion_set', 'cooldown_entered']);

/** Whether an accepted event of this name protects its player. */
export function isProtecting(event: string): boolean {
  return PROTECTING.has(event);
}
