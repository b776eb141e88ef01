import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** First bytes of an encrypted value; the id of its key follows. */
const MAGIC = Buffer.from('key:');
const KEY_ID_BYTES = 8;
const HEAD_BYTES = MAGIC.length + KEY_ID_BYTES;

/** Keys of {@link encryptText}, 32 bytes in hexadecimal each: `current` encrypts, both decrypt. */
export interface EncryptionKeys {
  current: string;
  /** Set while keys are rotated, undefined otherwise. */
  previous: string | undefined;
}

/** A new key for {@link encryptText}, in hexadecimal. */
export function newEncryptionKey(): string {
  return randomBytes(KEY_BYTES).toString('hex');
}

/** The id of a key in encrypted values and in messages: a short hash, from which the key cannot be computed. */
export function encryptionKeyId(key_hex: string): string {
  return hash('sha256', Buffer.from(key_hex, 'hex'), 'hex').slice(0, 2 * KEY_ID_BYTES);
}

/** The first bytes of every value that the key encrypted. */
export function encryptedHead(key_hex: string): Buffer {
  return Buffer.concat([MAGIC, Buffer.from(encryptionKeyId(key_hex), 'hex')]);
}

/** None of the given keys decrypts a value, or it belongs to another owner or was changed. */
export class DecryptionFailed extends Error {
  override readonly name = 'DecryptionFailed';
}

/**
 * Encrypts a text with the current key (AES-256-GCM). The result holds the key's id, nonce, tag and ciphertext.
 * Decryption needs the same `owner`.
 */
export function encryptText(keys: EncryptionKeys, owner: string, text: string): Buffer {
  return encryptBytes(keys, owner, Buffer.from(text));
}

/** The same for bytes. */
export function encryptBytes({ current }: EncryptionKeys, owner: string, plain: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, Buffer.from(current, 'hex'), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(owner));
  const encrypted = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([encryptedHead(current), nonce, cipher.getAuthTag(), encrypted]);
}

/**
 * Decrypts a text. Throws {@link DecryptionFailed} when it was encrypted with another key or for another owner, or was
 * changed since. The message contains the ids of the keys but no secret.
 */
export function decryptText(keys: EncryptionKeys, owner: string, encrypted: Uint8Array): string {
  return decryptBytes(keys, owner, encrypted).toString();
}

/** The same for bytes. */
export function decryptBytes(keys: EncryptionKeys, owner: string, encrypted: Uint8Array): Buffer {
  const bytes = Buffer.from(encrypted);
  const known = keys.previous === undefined ? [keys.current] : [keys.current, keys.previous];
  const key = known.find((each) => bytes.subarray(0, HEAD_BYTES).equals(encryptedHead(each)));
  const plain = key === undefined ? undefined : decrypt(key, owner, bytes.subarray(HEAD_BYTES));
  if (plain !== undefined) return plain;
  throw new DecryptionFailed(
    `${whyRefused(key, bytes)}; the keys given here are ${known.map(encryptionKeyId).join(' and ')}`,
  );
}

/** The same text encrypted with the current key; undefined when no key decrypts it for this owner. */
export function reencryptText(
  keys: EncryptionKeys,
  owner: string,
  encrypted: Uint8Array,
): Buffer | undefined {
  let text: string;
  try {
    text = decryptText(keys, owner, encrypted);
  } catch {
    // The reason is reported by the next `decryptText` of this value.
    return undefined;
  }
  return encryptText(keys, owner, text);
}

function whyRefused(key: string | undefined, bytes: Buffer): string {
  if (key !== undefined)
    return `encrypted with the key ${encryptionKeyId(key)} for another owner, or damaged`;
  const named = bytes.subarray(0, MAGIC.length).equals(MAGIC);
  return named
    ? `encrypted with the key ${bytes.subarray(MAGIC.length, HEAD_BYTES).toString('hex')}`
    : 'encrypted with an unknown key';
}

/** Decrypts `bytes` (nonce, tag, ciphertext); undefined when they do not belong to this key and owner. */
function decrypt(key_hex: string, owner: string, bytes: Buffer): Buffer | undefined {
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(ALGORITHM, Buffer.from(key_hex, 'hex'), nonce, options);
    decipher.setAAD(Buffer.from(owner));
    decipher.setAuthTag(tag);
    const plain = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    // The error carries no detail.
    return undefined;
  }
}
