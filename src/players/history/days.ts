const DAY_MS = 86_400_000;

/** How many days the deposit series covers, today included (spec part 4). */
export const SERIES_DAYS = 30;

/** Consecutive UTC days and the time span that they cover. */
export interface DaySeries {
  /** YYYY-MM-DD, oldest first. */
  dates: string[];
  from_ms: number;
  /** Exclusive. */
  to_ms: number;
}

/** The last {@link SERIES_DAYS} UTC days up to and including the day of `now_ms`, oldest first. */
export function lastDays(now_ms: number): DaySeries {
  const to_ms = (Math.floor(now_ms / DAY_MS) + 1) * DAY_MS;
  const from_ms = to_ms - SERIES_DAYS * DAY_MS;
  const dates = Array.from({ length: SERIES_DAYS }, (_, i) =>
    new Date(from_ms + i * DAY_MS).toISOString().slice(0, 10),
  );
  return { dates, from_ms, to_ms };
}
