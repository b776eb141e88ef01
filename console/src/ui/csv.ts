const REVOKE_MS = 10_000;

/**
 * Saves rows as a CSV file. Cells that a spreadsheet would run as a formula get a leading apostrophe: names of players
 * and events come from outside.
 */
export function downloadCsv(name: string, rows: readonly (readonly string[])[]): void {
  const text = rows.map((row) => row.map(cellOf).join(',')).join('\r\n');
  const url = URL.createObjectURL(new Blob(['\uFEFF', text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name.replaceAll(/[^\p{L}\p{N}]+/gu, '-').slice(0, 80)}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS);
}

/** A cell of a CSV file, quoted where it must be. */
export function cellOf(text: string): string {
  const is_number = /^-?[\d.,\s]+$/.test(text);
  const safe = !is_number && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
