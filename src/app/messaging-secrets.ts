import type { Config } from '../config.ts';
import { loadLinkKey } from '../engage/messaging/link-key.ts';
import { loadCredentialsKeys } from '../engage/providers/credentials.ts';
import type { EncryptionKeys } from '../platform/encryption.ts';
import type { Platform } from '../platform/platform.ts';

/** Loads the keys that encrypt providers' credentials, and the key that signs unsubscribe links. */
export async function loadMessagingSecrets(
  config: Config,
  { postgres, logger }: Platform,
): Promise<{ credentials_keys: EncryptionKeys; link_key: Buffer }> {
  const credentials_keys = await loadCredentialsKeys(config);
  return { credentials_keys, link_key: await loadLinkKey(postgres.service, credentials_keys, logger) };
}
