import { maskPersonal } from '../../../src/players/masking.ts';
import { parseExactly, writeExactly } from '../api/json.ts';

const LONGEST = 400;

/** Any value in one line of at most 400 characters, for lists; drawers show all of it. */
export function formatValue(value: unknown): string {
  return shortened(writeExactly(value));
}

/** As {@link formatValue}, with e-mail addresses and telephone numbers in it masked. */
export function formatMasked(value: unknown): string {
  return shortened(maskPersonal(writeExactly(value)));
}

/** A JSON value with e-mail addresses and telephone numbers in it masked. */
export function maskedValue(value: unknown): unknown {
  return parseExactly(maskPersonal(writeExactly(value)));
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
