import { hash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** A token that confirms something once; only its hash is stored. */
export function newConfirmationToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** The hash under which a token is stored. */
export function confirmationHash(token: string): Buffer {
  return Buffer.from(hash('sha256', token, 'hex'), 'hex');
}
