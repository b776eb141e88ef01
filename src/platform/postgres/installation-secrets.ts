import {
  reencryptText,
  encryptedHead,
  encryptText,
  decryptText,
  type EncryptionKeys,
} from '../encryption.ts';
import type { Db, Tx } from './port.ts';

/**
 * Returns a secret of the whole installation. Postgres keeps it encrypted, so that it survives a rotation of the
 * encryption key. On first use `make` creates it, as hexadecimal text; processes that start at the same time all get
 * the same secret. Rejects with {@link DecryptionFailed} when none of the keys decrypts it.
 */
export async function keepInstallationSecret(
  sql: Tx,
  keys: EncryptionKeys,
  name: string,
  make: () => Promise<string>,
): Promise<string> {
  const select = () => sql<{ encrypted: Buffer }[]>`
    select encrypted from installation_secrets where name = ${name}`;
  let [row] = await select();
  if (row === undefined) {
    await sql`
      insert into installation_secrets (name, encrypted)
      values (${name}, ${encryptText(keys, name, await make())})
      on conflict (name) do nothing`;
    [row] = await select();
  }
  if (row === undefined) throw new Error(`the installation secret ${name} was removed`);
  return decryptText(keys, name, row.encrypted);
}

/**
 * Encrypts every secret again that was not encrypted with the current key. Returns how many it re-encrypted, and how
 * many it left unchanged because none of the keys decrypts them.
 */
export async function reencryptInstallationSecrets(
  sql: Db,
  keys: EncryptionKeys,
): Promise<{ reencrypted: number; unreadable: number }> {
  return sql.begin(async (tx) => {
    const rows = await selectOthers(tx, encryptedHead(keys.current));
    let unreadable = 0;
    for (const { name, encrypted } of rows) {
      const anew = reencryptText(keys, name, encrypted);
      if (anew === undefined) unreadable++;
      else await tx`update installation_secrets set encrypted = ${anew} where name = ${name}`;
    }
    return { reencrypted: rows.length - unreadable, unreadable };
  });
}

/** Locks and returns the secrets whose first bytes are not `head`. */
async function selectOthers(tx: Tx, head: Buffer): Promise<{ name: string; encrypted: Buffer }[]> {
  return tx<{ name: string; encrypted: Buffer }[]>`
    select name, encrypted
    from installation_secrets
    where substring(encrypted for ${head.length}) <> ${head}
    order by name
    for update`;
}
