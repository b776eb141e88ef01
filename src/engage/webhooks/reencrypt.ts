import { encryptedHead, type EncryptionKeys } from '../../platform/encryption.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { lockSecretsOfOtherKeys, updateSecret, type SecretRef } from './secret-queries.ts';
import { reencryptSecret } from './secrets.ts';

/** Rows per transaction. */
const ROWS_AT_ONCE = 100;

/** Encrypts the webhook secrets that another key encrypted with the current key; `unreadable`: no given key decrypts them. */
export async function reencryptWebhookSecrets(
  sql: Db,
  keys: EncryptionKeys,
): Promise<{ reencrypted: number; unreadable: number }> {
  const head = encryptedHead(keys.current);
  const total = { reencrypted: 0, unreadable: 0 };
  let after: SecretRef | undefined;
  for (;;) {
    const position = after;
    const rows = await sql.begin(async (tx) => {
      const found = await lockSecretsOfOtherKeys(tx, head, position, ROWS_AT_ONCE);
      const anew = found.map((row) => ({ row, secret: reencryptSecret(keys, row, row.secret) }));
      await Promise.all(
        anew.flatMap(({ row, secret }) => (secret === undefined ? [] : [updateSecret(tx, row, secret)])),
      );
      total.unreadable += anew.filter(({ secret }) => secret === undefined).length;
      return found;
    });
    total.reencrypted += rows.length;
    after = rows.at(-1);
    if (rows.length < ROWS_AT_ONCE) break;
  }
  total.reencrypted -= total.unreadable;
  return total;
}
