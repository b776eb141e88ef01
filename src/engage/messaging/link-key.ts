import { hkdfSync } from 'node:crypto';
import type { Logger } from '../../platform/logger.ts';
import { keepInstallationSecret } from '../../platform/postgres/installation-secrets.ts';
import type { Db } from '../../platform/postgres/port.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';

const NAME = 'unsubscribe-link';
const KEY_BYTES = 32;

/**
 * The key that signs unsubscribe links. It is made from CREDENTIALS_KEY once and kept in Postgres, so that links in
 * messages that were sent stay good when that key is rotated. `sql` is the service role.
 */
export async function loadLinkKey(sql: Db, keys: EncryptionKeys, logger: Logger): Promise<Buffer> {
  // Links that are out already were signed by the older of the two.
  const made = derive(keys.previous ?? keys.current);
  try {
    return Buffer.from(await keepInstallationSecret(sql, keys, NAME, () => made.toString('hex')), 'hex');
  } catch (error) {
    // Nothing else stops for a lost key: messages go on, with links that this key signs.
    logger.error(
      { err: error },
      'links in messages sent before cannot be checked: CREDENTIALS_KEY is another',
    );
    return made;
  }
}

function derive(key_hex: string): Buffer {
  return Buffer.from(hkdfSync('sha256', Buffer.from(key_hex, 'hex'), '', NAME, KEY_BYTES));
}
