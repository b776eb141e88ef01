import { reencryptInstallationSecrets } from '../../platform/postgres/installation-secrets.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';
import { encryptedHead, type EncryptionKeys } from '../../platform/encryption.ts';
import { reencryptSecrets } from './credentials.ts';
import { lockOtherKeys, updateCredentials, type EncryptedRow } from './reencrypt-queries.ts';

/** Rows per transaction: each row is locked while so many are encrypted. */
const ROWS_AT_ONCE = 100;
/** Unreadable providers that the result lists. */
const MAX_NAMED = 100;

/** Encrypts other rows with the current key, in small transactions. */
export type Reencrypt = (
  sql: Db,
  keys: EncryptionKeys,
) => Promise<Pick<Reencrypted, 'reencrypted' | 'unreadable'>>;

/** The result of re-encrypting. */
export interface Reencrypted {
  /** Rows that were encrypted with another key before, and have the current key now. */
  reencrypted: number;
  /** Rows that no given key decrypts. */
  unreadable: number;
  /** The providers of up to 100 unreadable rows. */
  unreadable_provider_ids: string[];
}

/**
 * Encrypts all secrets that another key encrypted with the current key, in small transactions. It can be stopped and
 * repeated at any time. Once `unreadable` is 0, the previous key is no longer needed.
 */
export async function reencryptCredentials(
  sql: Db,
  keys: EncryptionKeys,
  further: readonly Reencrypt[],
): Promise<Reencrypted> {
  const total: Reencrypted = {
    ...(await reencryptInstallationSecrets(sql, keys)),
    unreadable_provider_ids: [],
  };
  for (const reencrypt of further) {
    const { reencrypted, unreadable } = await reencrypt(sql, keys);
    total.reencrypted += reencrypted;
    total.unreadable += unreadable;
  }
  const head = encryptedHead(keys.current);
  let after: EncryptedRow | undefined;
  for (;;) {
    const position = after;
    const { rows, unreadable } = await sql.begin((tx) => reencryptBatch(tx, keys, head, position));
    total.reencrypted += rows.length - unreadable.length;
    total.unreadable += unreadable.length;
    const room = MAX_NAMED - total.unreadable_provider_ids.length;
    total.unreadable_provider_ids.push(...unreadable.slice(0, room));
    after = rows.at(-1);
    if (rows.length < ROWS_AT_ONCE) return total;
  }
}

async function reencryptBatch(tx: Tx, keys: EncryptionKeys, head: Buffer, after: EncryptedRow | undefined) {
  const rows = await lockOtherKeys(tx, head, after, ROWS_AT_ONCE);
  const unreadable: string[] = [];
  const updates: Promise<void>[] = [];
  for (const row of rows) {
    const anew = reencryptSecrets(keys, row, row.credentials);
    if (anew === undefined) unreadable.push(row.provider_id);
    else updates.push(updateCredentials(tx, row, anew));
  }
  await Promise.all(updates);
  return { rows, unreadable };
}
