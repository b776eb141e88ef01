import { hkdfSync } from 'node:crypto';
import type { Logger } from '../../platform/logger.ts';
import { keepInstallationSecret } from '../../platform/postgres/installation-secrets.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { DecryptionFailed, type EncryptionKeys } from '../../platform/encryption.ts';
import { readableSecrets } from '../providers/credentials.ts';
import { selectOldestCredentials } from '../providers/reencrypt-queries.ts';

const NAME = 'unsubscribe-link';
const KEY_BYTES = 32;
/** Providers whose credentials may show which key was in use: more than one, because a key may be lost. */
const MAX_PROVIDERS = 100;

/**
 * The key that signs unsubscribe links. It is derived from CREDENTIALS_KEY once and kept in Postgres, so that links in
 * messages that were sent remain valid when that key is rotated. `sql` is the service role. Rejects when a statement
 * fails: a process with another key would refuse valid links.
 */
export async function loadLinkKey(sql: Tx, keys: EncryptionKeys, logger: Logger): Promise<Buffer> {
  const make = async () => derive(await keyInUse(sql, keys)).toString('hex');
  let text: string;
  try {
    text = await keepInstallationSecret(sql, keys, NAME, make);
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error;
    // A lost key does not stop messages: the newly derived key signs their links.
    logger.error(
      { err: error },
      'links in messages sent earlier cannot be verified: CREDENTIALS_KEY has changed',
    );
    text = await make();
  }
  return Buffer.from(text, 'hex');
}

/**
 * The key that was CREDENTIALS_KEY before a rotation began: it signed the links of versions that kept no signing key.
 * During a rotation either variable may have it, so the credentials that are stored decide. Without credentials it is
 * the previous key, as after the second step of a rotation.
 */
async function keyInUse(sql: Tx, { current, previous }: EncryptionKeys): Promise<string> {
  if (previous === undefined) return current;
  for (const row of await selectOldestCredentials(sql, MAX_PROVIDERS)) {
    const used = [previous, current].find(
      (key) => readableSecrets({ current: key, previous: undefined }, row, row.credentials) !== undefined,
    );
    if (used !== undefined) return used;
  }
  return previous;
}

function derive(key_hex: string): Buffer {
  return Buffer.from(hkdfSync('sha256', Buffer.from(key_hex, 'hex'), '', NAME, KEY_BYTES));
}
