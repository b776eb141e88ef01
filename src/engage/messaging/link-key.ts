import { hkdfSync } from 'node:crypto';
import type { Logger } from '../../platform/logger.ts';
import { keepInstallationSecret } from '../../platform/postgres/installation-secrets.ts';
import type { Db } from '../../platform/postgres/port.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';

const NAME = 'unsubscribe-link';
const KEY_BYTES = 32;

/**
 * The key that signs unsubscribe links. It is derived from CREDENTIALS_KEY once and kept in Postgres, so that links in
 * messages that were sent remain valid when that key is rotated. `sql` is the service role.
 */
export async function loadLinkKey(sql: Db, keys: EncryptionKeys, logger: Logger): Promise<Buffer> {
  // Derived from the older of the two keys, which signed the links that are in messages already.
  const made = derive(keys.previous ?? keys.current);
  try {
    return Buffer.from(await keepInstallationSecret(sql, keys, NAME, () => made.toString('hex')), 'hex');
  } catch (error) {
    // A lost key does not stop messages: the newly derived key signs their links.
    logger.error(
      { err: error },
      'links in messages sent earlier cannot be verified: CREDENTIALS_KEY has changed',
    );
    return made;
  }
}

function derive(key_hex: string): Buffer {
  return Buffer.from(hkdfSync('sha256', Buffer.from(key_hex, 'hex'), '', NAME, KEY_BYTES));
}
