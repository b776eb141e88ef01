/** A point of a chart: when, and the figure as a plain decimal text with all its digits, as spreadsheets read it. */
export interface ChartPoint {
  at: string;
  figure: string;
}

/** The rows of a chart: numbers, without currency signs and groups, below the name of their unit. */
export function chartRows(when: string, unit: string, points: readonly ChartPoint[]): string[][] {
  return [[when, unit], ...points.map(({ at, figure }) => [at, figure])];
}

/**
 * A cell of a CSV file, quoted where it must be. One that a spreadsheet would run as a formula gets a leading apostrophe:
 * names of players and events come from outside.
 */
export function cellOf(text: string): string {
  const is_number = /^-?[\d.,\s]+$/.test(text);
  const safe = !is_number && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
