/**
 * A cell of a CSV file, quoted where it must be. One that a spreadsheet would run as a formula gets a leading apostrophe:
 * names of players and events come from outside.
 */
export function cellOf(text: string): string {
  const is_number = /^-?[\d.,\s]+$/.test(text);
  const safe = !is_number && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
