import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Begins what names its key; before that was so, a random nonce came first. */
const MAGIC = Buffer.from('key:');
const KEY_ID_BYTES = 8;
const HEAD_BYTES = MAGIC.length + KEY_ID_BYTES;

/** Keys of {@link encryptText}, 32 bytes in hexadecimal each: the first encrypts, both open. */
export interface EncryptionKeys {
  current: string;
  /** While keys are rotated; absent otherwise. */
  previous: string | undefined;
}

/** A new key for {@link encryptText}, in hexadecimal. */
export function newEncryptionKey(): string {
  return randomBytes(KEY_BYTES).toString('hex');
}

/** What a key is called in what it encrypted and in messages: a short hash, from which the key cannot be computed. */
export function encryptionKeyId(key_hex: string): string {
  return hash('sha256', Buffer.from(key_hex, 'hex'), 'hex').slice(0, 2 * KEY_ID_BYTES);
}

/** How everything begins that the key encrypted. */
export function encryptedHead(key_hex: string): Buffer {
  return Buffer.concat([MAGIC, Buffer.from(encryptionKeyId(key_hex), 'hex')]);
}

/**
 * Encrypts a text with the current key (AES-256-GCM): the key's id, nonce, tag, ciphertext. `owner` has to be named again
 * to open it.
 */
export function encryptText({ current }: EncryptionKeys, owner: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, Buffer.from(current, 'hex'), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(owner));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([encryptedHead(current), nonce, cipher.getAuthTag(), encrypted]);
}

/**
 * The text again. Throws when it was encrypted with another key, for another owner, or was changed since; the error names the
 * ids of the keys and nothing else.
 */
export function decryptText(keys: EncryptionKeys, owner: string, encrypted: Uint8Array): string {
  const bytes = Buffer.from(encrypted);
  const known = keys.previous === undefined ? [keys.current] : [keys.current, keys.previous];
  const key = known.find((each) => bytes.subarray(0, HEAD_BYTES).equals(encryptedHead(each)));
  const candidates = key === undefined ? known : [key];
  const body = key === undefined ? bytes : bytes.subarray(HEAD_BYTES);
  for (const candidate of candidates) {
    const text = decrypt(candidate, owner, body);
    if (text !== undefined) return text;
  }
  throw new Error(
    `${whyRefused(key, bytes)}; the keys given here are ${known.map(encryptionKeyId).join(' and ')}`,
  );
}

/** The same text encrypted with the current key; undefined when no key opens it for this owner. */
export function reencryptText(
  keys: EncryptionKeys,
  owner: string,
  encrypted: Uint8Array,
): Buffer | undefined {
  let text: string;
  try {
    text = decryptText(keys, owner, encrypted);
  } catch {
    // Who uses it next is told the reason.
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

/** Nonce, tag and ciphertext as text; undefined when they are not of this key and owner. */
function decrypt(key_hex: string, owner: string, bytes: Buffer): string | undefined {
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(ALGORITHM, Buffer.from(key_hex, 'hex'), nonce, options);
    decipher.setAAD(Buffer.from(owner));
    decipher.setAuthTag(tag);
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    // The cause says no more than that it failed.
    return undefined;
  }
}
