import { reencryptInstallationSecrets } from '../../platform/postgres/installation-secrets.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';
import { encryptedHead, type EncryptionKeys } from '../../platform/encryption.ts';
import { reencryptSecrets } from './credentials.ts';
import { lockOtherKeys, updateCredentials, type EncryptedRow } from './reencrypt-queries.ts';

/** Rows of one transaction: each is locked for as long as it takes to encrypt so many. */
const ROWS_AT_ONCE = 100;
const MAX_NAMED = 100;

/** What re-encrypting came to. */
export interface Reencrypted {
  /** Rows that are now encrypted with the current key, and were not before. */
  reencrypted: number;
  /** Rows that no given key opens. */
  unreadable: number;
  /** The providers of at most 100 of those. */
  unreadable_provider_ids: string[];
}

/**
 * Encrypts with the current key whatever is encrypted with another, in small transactions; it can be stopped and repeated at any
 * time. Once it answers 0 for `unreadable`, the previous key is needed no more.
 */
export async function reencryptCredentials(sql: Db, keys: EncryptionKeys): Promise<Reencrypted> {
  const total: Reencrypted = {
    ...(await reencryptInstallationSecrets(sql, keys)),
    unreadable_provider_ids: [],
  };
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
