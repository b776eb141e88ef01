import { reencryptClientSecret } from '../../http/auth/client-secret.ts';
import { encryptedHead, type EncryptionKeys } from '../../platform/encryption.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { lockSecretsOfOtherKeys, updateSecret } from './queries.ts';

/** Rows per transaction. */
const ROWS_AT_ONCE = 100;

/** Encrypts the client secrets that another key encrypted with the current key; `unreadable`: no given key decrypts them. */
export async function reencryptClientSecrets(
  sql: Db,
  keys: EncryptionKeys,
): Promise<{ reencrypted: number; unreadable: number }> {
  const head = encryptedHead(keys.current);
  const total = { reencrypted: 0, unreadable: 0 };
  let after: { tenant_id: string; key_id: string } | undefined;
  for (;;) {
    const position = after;
    const rows = await sql.begin(async (tx) => {
      const found = await lockSecretsOfOtherKeys(tx, head, position, ROWS_AT_ONCE);
      const anew = found.flatMap((row) => {
        const client_secret = reencryptClientSecret(keys, row, row.client_secret);
        return client_secret === undefined ? [] : [{ ...row, client_secret }];
      });
      await Promise.all(anew.map((row) => updateSecret(tx, row)));
      total.reencrypted += anew.length;
      total.unreadable += found.length - anew.length;
      return found;
    });
    after = rows.at(-1);
    if (rows.length < ROWS_AT_ONCE) return total;
  }
}
