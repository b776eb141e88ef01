import { hkdfSync } from 'node:crypto';
import { z } from 'zod';
import type { ConsoleProvider } from '../config.ts';
import { decryptText, encryptText, type EncryptionKeys } from '../platform/encryption.ts';

/** A sign-in that is not finished within this time must begin again. */
export const SIGN_IN_MS = 10 * 60_000;

const PURPOSE = 'console sign-in';
const KEY_BYTES = 32;
/** Another process, which began the sign-in, may have a clock that is so far ahead. */
const CLOCK_SKEW_MS = 60_000;
/** Longer than any cookie of ours; nothing longer is decrypted. */
const MAX_SEALED_LENGTH = 4_096;

const signIn = z.strictObject({
  state: z.string().min(1),
  nonce: z.string().min(1),
  /** Of PKCE. */
  code_verifier: z.string().min(1),
  return_to: z.string().startsWith('/console/'),
  began_at_ms: z.number(),
});

/** What the browser keeps between the beginning of a sign-in and its end. */
export type SignIn = z.infer<typeof signIn>;

/** Encrypts sign-ins for the browser, and reads them again. */
export interface SignInSeal {
  seal(sign_in: SignIn): string;
  /** Undefined when the text was not sealed by this installation for this provider, was changed, or has expired. */
  open(sealed: string | undefined, now_ms: number): SignIn | undefined;
}

/** The seal of all processes with these keys. Its own keys are derived from them. */
export function createSignInSeal(
  keys: EncryptionKeys,
  { issuer, client_id }: Pick<ConsoleProvider, 'issuer' | 'client_id'>,
): SignInSeal {
  const { current, previous } = keys;
  const derived = {
    current: derive(current),
    previous: previous === undefined ? undefined : derive(previous),
  };
  const owner = JSON.stringify([PURPOSE, issuer, client_id]);
  return {
    seal: (sign_in) => encryptText(derived, owner, JSON.stringify(sign_in)).toString('base64url'),
    open: (sealed, now_ms) => {
      if (sealed === undefined || sealed.length > MAX_SEALED_LENGTH) return undefined;
      const opened = decryptOrNothing(derived, owner, sealed);
      if (opened === undefined) return undefined;
      const sign_in = signIn.parse(JSON.parse(opened));
      const age_ms = now_ms - sign_in.began_at_ms;
      return age_ms >= -CLOCK_SKEW_MS && age_ms < SIGN_IN_MS ? sign_in : undefined;
    },
  };
}

function derive(key_hex: string): string {
  return Buffer.from(hkdfSync('sha256', Buffer.from(key_hex, 'hex'), '', PURPOSE, KEY_BYTES)).toString('hex');
}

function decryptOrNothing(keys: EncryptionKeys, owner: string, sealed: string): string | undefined {
  try {
    return decryptText(keys, owner, Buffer.from(sealed, 'base64url'));
  } catch {
    // The browser may send anything; only what was sealed here can be read.
    return undefined;
  }
}
