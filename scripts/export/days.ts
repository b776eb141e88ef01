const DAY_MS = 86_400_000;
/** Days of one run. */
export const MAX_DAYS = 366;

/** The command line cannot be used; `message` says why. */
export class ExportRefused extends Error {
  override readonly name = 'ExportRefused';
}

/** One day of UTC. */
export interface Day {
  /** `2026-01-31`. */
  date: string;
  /** Its beginning and its end, as the API takes them. */
  from: string;
  to: string;
}

/** The days from one date to another, both included. Throws {@link ExportRefused} when they are no dates, or too many. */
export function daysOf(from: string | undefined, to: string | undefined): Day[] {
  const [first_ms, last_ms] = [startOf('from', from), startOf('to', to)];
  const count = (last_ms - first_ms) / DAY_MS + 1;
  if (count < 1) throw new ExportRefused('--from must not be after --to');
  if (count > MAX_DAYS) throw new ExportRefused(`${count} days: export at most ${MAX_DAYS} at a time`);
  return Array.from({ length: count }, (_, i) => {
    const from_ms = first_ms + i * DAY_MS;
    const text = new Date(from_ms).toISOString();
    return { date: text.slice(0, 10), from: text, to: new Date(from_ms + DAY_MS).toISOString() };
  });
}

function startOf(flag: string, text: string | undefined): number {
  const at_ms = /^\d{4}-\d\d-\d\d$/.test(text ?? '') ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // A date such as 02-30 must not become another day.
  if (Number.isNaN(at_ms) || new Date(at_ms).toISOString().slice(0, 10) !== text)
    throw new ExportRefused(`--${flag} must be a date such as 2026-01-31`);
  return at_ms;
}
