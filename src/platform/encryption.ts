import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A new key for {@link encryptText}, in hexadecimal. */
export function newEncryptionKey(): string {
  return randomBytes(KEY_BYTES).toString('hex');
}

/** Encrypts a text (AES-256-GCM): nonce, tag, ciphertext. `owner` has to be named again to open it. */
export function encryptText(key_hex: string, owner: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, Buffer.from(key_hex, 'hex'), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(owner));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]);
}

/** The text again. Throws when the key, the owner or the bytes are others; the error tells nothing of any of them. */
export function decryptText(key_hex: string, owner: string, encrypted: Uint8Array): string {
  const bytes = Buffer.from(encrypted);
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const options = { authTagLength: TAG_BYTES };
  const decipher = createDecipheriv(ALGORITHM, Buffer.from(key_hex, 'hex'), nonce, options);
  decipher.setAAD(Buffer.from(owner));
  decipher.setAuthTag(tag);
  const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([text, decipher.final()]).toString();
}
