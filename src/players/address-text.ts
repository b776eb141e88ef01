import { z } from 'zod';
import { emptyIdMessage, isEmptyId } from '../platform/empty-ids.ts';

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

/**
 * The schema of an address in a request, as {@link plainAddress}, or `clean`, makes it; then it has 1 to `max` characters,
 * and `fault` finds nothing wrong with it.
 */
export function addressText(
  max: number,
  fault: (address: string) => string | undefined,
  clean = plainAddress,
) {
  return z
    .string()
    .overwrite(clean)
    .min(1, 'must not be empty: give null where there is none')
    .max(max)
    .refine((address) => address === '' || fault(address) === undefined, {
      error: ({ input }) => fault(String(input)),
    })
    .meta({ pattern: '\\S' });
}

/**
 * What is wrong with an address when it is the text of an empty value; undefined: it is not. All players without an
 * address would be one person, and the exclusion of one would exclude all.
 */
export function emptyFault(field: string, address: string): string | undefined {
  if (!address.replace(/^@/, '').split('@').every(isEmptyId)) return undefined;
  return emptyIdMessage(field, address, 'Give null where there is none', field);
}

/** What is wrong with a text as an email address; undefined: nothing. */
export function emailFault(address: string): string | undefined {
  return emptyFault('email', address) ?? (EMAIL.test(address) ? undefined : 'must be an email address');
}

/**
 * What is wrong with a text as a telephone number; undefined: nothing. Numbers within a country, extensions and every
 * spelling are allowed; a number has at least 4 digits behind zeros, and not the same one throughout, as placeholders have. What
 * is accepted here is an address to the gate: see `isAddress` in exclusions/address-queries.ts.
 */
export function phoneFault(address: string): string | undefined {
  const digits = address.match(DIGIT) ?? [];
  const behind_zeros = digits.slice(digits.findIndex((digit) => digit !== '0'));
  const is_one_digit = new Set(behind_zeros).size === 1 && behind_zeros.length < SHORT_DIGITS;
  if (behind_zeros.length >= MIN_DIGITS && new Set(digits).size > 1 && !is_one_digit) return undefined;
  return emptyFault('phone', address) ?? PHONE_RULE;
}

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const DIGIT = /\p{Nd}/gu;
/** The shortest numbers within a country have so many. */
const MIN_DIGITS = 4;
/** Shorter numbers of one digit behind zeros are placeholders to the gate. */
const SHORT_DIGITS = 7;
const PHONE_RULE = `must be a telephone number: at least ${MIN_DIGITS} digits, not the same one throughout`;
