import { trimmedText } from '../http/trimmed-text.ts';

/** Characters without a look of their own, which come along when an address is copied. */
const INVISIBLE = /\p{Cf}/gu;
const SCHEME = /^(?:mailto|tel|sms):(?:\/\/)?/i;

/**
 * An email address or telephone number as it is stored, compared and suppressed: without invisible characters, without
 * spaces around, and of a link (`mailto:`, `tel:`, `sms:`) the address alone. Any other text only loses what is invisible.
 */
export function plainAddress(text: string): string {
  const visible = text.replace(INVISIBLE, '').trim();
  const scheme = SCHEME.exec(visible)?.[0];
  return scheme === undefined ? visible : (visible.slice(scheme.length).split(/[?;]/, 1)[0] ?? '').trim();
}

/** The schema of an address in a request, as {@link plainAddress} makes it; then it has `min` to `max` characters. */
export function addressText(min: number, max: number) {
  return trimmedText(min, max, plainAddress);
}
