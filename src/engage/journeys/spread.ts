const HOUR_MS = 3_600_000;

/**
 * When the nth run of many that would go on at once goes on, by the journey's entry rate; null when the journey has
 * none, so that it goes on when it was to. `settings` may be as stored.
 */
export function spread(
  settings: { max_entries_per_hour?: unknown },
  now_ms: number,
  nth: number,
): Date | null {
  const rate = settings.max_entries_per_hour;
  if (typeof rate !== 'number' || !(rate > 0)) return null;
  return new Date(now_ms + Math.floor((nth * HOUR_MS) / rate));
}
