import { join } from 'node:path';
import { readOrCreateSecret } from '../../http/auth/secret-file.ts';
import { KEYED_ROLES, type Config } from '../../config.ts';
import {
  DecryptionFailed,
  newEncryptionKey,
  reencryptText,
  encryptText,
  decryptText,
  type EncryptionKeys,
} from '../../platform/encryption.ts';

const FILE = 'credentials-key';

/**
 * The provider that secrets belong to. It is part of the encryption: in another provider's row they cannot be
 * decrypted.
 */
export interface SecretsOwner {
  tenant_id: string;
  provider_id: string;
}

/**
 * The keys that encrypt providers' secrets: the configured ones, or a key that is generated once and kept in DATA_DIR.
 * Rejects with TypeError in a process without one of {@link KEYED_ROLES}, which has none and must not make up its own.
 */
export async function loadCredentialsKeys(config: Config): Promise<EncryptionKeys> {
  const { credentials_key, credentials_key_previous: previous, roles } = config;
  if (credentials_key !== undefined) return { current: credentials_key, previous };
  if (!KEYED_ROLES.some((role) => roles.has(role))) {
    throw new TypeError('no role of this process is one of KEYED_ROLES');
  }
  return { current: await readOrCreateSecret(join(config.data_dir, FILE), newEncryptionKey), previous };
}

/** Encrypts a provider's secrets (AES-256-GCM). */
export function encryptSecrets(
  keys: EncryptionKeys,
  owner: SecretsOwner,
  secrets: Record<string, unknown>,
): Buffer {
  return encryptText(keys, nameOf(owner), JSON.stringify(secrets));
}

/** Decrypts a provider's secrets. Throws {@link DecryptionFailed} when they were encrypted with a key not in `keys`, or for another provider. */
export function decryptSecrets(
  keys: EncryptionKeys,
  owner: SecretsOwner,
  encrypted: Uint8Array,
): Record<string, unknown> {
  let text: string;
  try {
    text = decryptText(keys, nameOf(owner), encrypted);
  } catch (cause) {
    if (!(cause instanceof DecryptionFailed)) throw cause;
    throw new DecryptionFailed(
      `the credentials of messaging provider ${owner.provider_id} cannot be decrypted: ${cause.message} ` +
        '(CREDENTIALS_KEY, CREDENTIALS_KEY_PREVIOUS)',
      { cause },
    );
  }
  return JSON.parse(text) as Record<string, unknown>;
}

/** Like {@link decryptSecrets}; undefined when no key in `keys` decrypts them. */
export function readableSecrets(
  keys: EncryptionKeys,
  owner: SecretsOwner,
  encrypted: Uint8Array,
): Record<string, unknown> | undefined {
  try {
    return decryptSecrets(keys, owner, encrypted);
  } catch (error) {
    if (error instanceof DecryptionFailed) return undefined;
    throw error;
  }
}

/** The same secrets encrypted with the current key; undefined when no key in `keys` decrypts them. */
export function reencryptSecrets(
  keys: EncryptionKeys,
  owner: SecretsOwner,
  encrypted: Uint8Array,
): Buffer | undefined {
  return reencryptText(keys, nameOf(owner), encrypted);
}

function nameOf({ tenant_id, provider_id }: SecretsOwner): string {
  return `${tenant_id} ${provider_id}`;
}
