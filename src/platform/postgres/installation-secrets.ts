import {
  reencryptText,
  encryptedHead,
  encryptText,
  decryptText,
  type EncryptionKeys,
} from '../encryption.ts';
import type { Db, Tx } from './port.ts';

/**
 * A secret of the whole installation, which is kept encrypted in Postgres and so outlives the key that it was encrypted with.
 * `make` gives it the first time, as hexadecimal text; of processes that start at once all get the same. Rejects when none
 * of the keys opens it.
 */
export async function keepInstallationSecret(
  sql: Db,
  keys: EncryptionKeys,
  name: string,
  make: () => string,
): Promise<string> {
  await sql`
    insert into installation_secrets (name, encrypted)
    values (${name}, ${encryptText(keys, name, make())})
    on conflict (name) do nothing`;
  const [row] = await sql<
    { encrypted: Buffer }[]
  >`select encrypted from installation_secrets where name = ${name}`;
  if (row === undefined) throw new Error(`the installation secret ${name} was removed`);
  return decryptText(keys, name, row.encrypted);
}

/** Encrypts with the current key what is not; returns how many that were, and how many no given key opens. */
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

async function selectOthers(tx: Tx, head: Buffer): Promise<{ name: string; encrypted: Buffer }[]> {
  return tx<{ name: string; encrypted: Buffer }[]>`
    select name, encrypted
    from installation_secrets
    where substring(encrypted for ${head.length}) <> ${head}
    order by name
    for update`;
}
