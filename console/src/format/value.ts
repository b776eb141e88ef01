import { writeExactly } from '../api/json.ts';

const LONGEST = 400;

/** Any value in one line of at most 400 characters, for lists; drawers show all of it. */
export function formatValue(value: unknown): string {
  const text = writeExactly(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
