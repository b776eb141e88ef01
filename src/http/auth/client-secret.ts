import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { decryptText, encryptText, reencryptText, type EncryptionKeys } from '../../platform/encryption.ts';

const SECRET_BYTES = 33;

/** The API key that a client secret belongs to. */
export interface ClientSecretOwner {
  tenant_id: string;
  key_id: string;
}

/** A new client secret: `svc_cs_` and 44 base64url characters. */
export function newClientSecret(): string {
  return `svc_cs_${randomBytes(SECRET_BYTES).toString('base64url')}`;
}

/** The `user_hash` of a user: HMAC-SHA256 of the external_id with the client secret, in lower-case hexadecimal. */
export function userHashOf(client_secret: string, external_id: string): string {
  return createHmac('sha256', client_secret).update(external_id).digest('hex');
}

/** Whether `user_hash` is that of the external_id, in a time that does not depend on how much of it is right. */
export function isUserHash(client_secret: string, external_id: string, user_hash: string): boolean {
  const right = Buffer.from(userHashOf(client_secret, external_id));
  const given = Buffer.from(user_hash);
  return given.length === right.length && timingSafeEqual(given, right);
}

/** Encrypts the client secret of a key (AES-256-GCM). */
export function encryptClientSecret(keys: EncryptionKeys, owner: ClientSecretOwner, secret: string): Buffer {
  return encryptText(keys, nameOf(owner), secret);
}

/** The client secret of a key. Throws DecryptionFailed when no key in `keys` decrypts it. */
export function decryptClientSecret(
  keys: EncryptionKeys,
  owner: ClientSecretOwner,
  encrypted: Uint8Array,
): string {
  return decryptText(keys, nameOf(owner), encrypted);
}

/** The same secret encrypted with the current key; undefined when no key in `keys` decrypts it. */
export function reencryptClientSecret(
  keys: EncryptionKeys,
  owner: ClientSecretOwner,
  encrypted: Uint8Array,
): Buffer | undefined {
  return reencryptText(keys, nameOf(owner), encrypted);
}

/** Part of the encryption: in the row of another key the secret cannot be decrypted. */
function nameOf({ tenant_id, key_id }: ClientSecretOwner): string {
  return `client secret ${tenant_id} ${key_id}`;
}
