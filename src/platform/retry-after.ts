/** `Retry-After` (seconds, or a date) as milliseconds from `now_ms`; null when the header is absent or invalid. */
export function readRetryAfter(header: string | null, now_ms: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now_ms;
  return Number.isNaN(ms) ? null : Math.max(ms, 0);
}
