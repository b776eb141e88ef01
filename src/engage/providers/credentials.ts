import { join } from 'node:path';
import { readOrCreateSecret } from '../../auth/secret-file.ts';
import type { Config } from '../../config.ts';
import { newEncryptionKey, encryptText, decryptText } from '../../platform/encryption.ts';

const FILE = 'credentials-key';

/** Whose secrets they are: in another provider's row they cannot be opened. */
export interface SecretsOwner {
  tenant_id: string;
  provider_id: string;
}

/** The key that providers' secrets are encrypted with: the configured one, else one made once and kept in DATA_DIR. */
export async function loadCredentialsKey(config: Config): Promise<string> {
  if (config.credentials_key !== undefined) return config.credentials_key;
  return readOrCreateSecret(join(config.data_dir, FILE), newEncryptionKey);
}

/** Encrypts a provider's secrets (AES-256-GCM). */
export function encryptSecrets(
  key_hex: string,
  owner: SecretsOwner,
  secrets: Record<string, unknown>,
): Buffer {
  return encryptText(key_hex, nameOf(owner), JSON.stringify(secrets));
}

/** The secrets again. Throws when they were encrypted with another key or for another provider. */
export function decryptSecrets(
  key_hex: string,
  owner: SecretsOwner,
  encrypted: Uint8Array,
): Record<string, unknown> {
  try {
    return JSON.parse(decryptText(key_hex, nameOf(owner), encrypted)) as Record<string, unknown>;
  } catch {
    // The cause is left out: it could quote what it failed on.
    throw new Error(
      `the credentials of messaging provider ${owner.provider_id} cannot be decrypted: ` +
        'CREDENTIALS_KEY is not the one they were stored with',
    );
  }
}

function nameOf({ tenant_id, provider_id }: SecretsOwner): string {
  return `${tenant_id} ${provider_id}`;
}
