import {
  DecryptionFailed,
  decryptText,
  encryptedHead,
  encryptText,
  reencryptText,
  type EncryptionKeys,
} from '../platform/encryption.ts';
import type { Db, Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { AdapterRef } from './queries.ts';
import {
  lockOtherKeys,
  selectActiveSecrets,
  updateEncrypted,
  type EncryptedKind,
  type EncryptedRow,
  type SecretRow,
} from './secret-queries.ts';

/** What a text belongs to: the token of an adapter, or one of its secrets. */
export type SecretOwner = AdapterRef & { secret_id?: string };

/** Encrypts the bearer token of an adapter or one of its secrets (AES-256-GCM). */
export function encryptSecret(keys: EncryptionKeys, owner: SecretOwner, text: string): Buffer {
  return encryptText(keys, nameOf(owner), text);
}

/** The text of a token or secret. Throws {@link DecryptionFailed} when no key in `keys` decrypts it. */
export function readSecret(keys: EncryptionKeys, owner: SecretOwner, encrypted: Uint8Array): string {
  try {
    return decryptText(keys, nameOf(owner), encrypted);
  } catch (cause) {
    if (!(cause instanceof DecryptionFailed)) throw cause;
    throw new DecryptionFailed(
      `a secret of the adapter ${owner.adapter_id} cannot be decrypted: ${cause.message} ` +
        '(CREDENTIALS_KEY, CREDENTIALS_KEY_PREVIOUS)',
      { cause },
    );
  }
}

/** The texts of those secrets that a key in `keys` decrypts, in their order. */
export function readableSecrets(keys: EncryptionKeys, rows: readonly SecretRow[]): string[] {
  return rows.flatMap((row) => {
    try {
      return [readSecret(keys, row, row.secret)];
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error;
      return [];
    }
  });
}

/**
 * What signs webhooks of these projects: the encrypted current secret of the active adapter, of each project that has
 * one. To be read with {@link readSecret}.
 */
export function activeAdapterSecrets(sql: Tx, projects: readonly ProjectRef[]): Promise<SecretRow[]> {
  return selectActiveSecrets(sql, projects);
}

/** Rows per transaction. */
const ROWS_AT_ONCE = 100;

/** Encrypts the adapters' tokens and secrets that another key encrypted with the current key. */
export async function reencryptAdapterSecrets(
  sql: Db,
  keys: EncryptionKeys,
): Promise<{ reencrypted: number; unreadable: number }> {
  const of_tokens = await reencryptAll(sql, keys, 'token');
  const of_secrets = await reencryptAll(sql, keys, 'secret');
  return {
    reencrypted: of_tokens.reencrypted + of_secrets.reencrypted,
    unreadable: of_tokens.unreadable + of_secrets.unreadable,
  };
}

async function reencryptAll(sql: Db, keys: EncryptionKeys, kind: EncryptedKind) {
  const head = encryptedHead(keys.current);
  const total = { reencrypted: 0, unreadable: 0 };
  let after: EncryptedRow | undefined;
  for (;;) {
    const position = after;
    const { rows, unreadable } = await sql.begin(async (tx) => {
      const found = await lockOtherKeys(tx, kind, head, position, ROWS_AT_ONCE);
      const anew = found.map((row) => ({
        row,
        encrypted: reencryptText(keys, ownerName(kind, row), row.encrypted),
      }));
      await Promise.all(
        anew.flatMap(({ row, encrypted }) =>
          encrypted === undefined ? [] : [updateEncrypted(tx, kind, row, encrypted)],
        ),
      );
      return { rows: found, unreadable: anew.filter(({ encrypted }) => encrypted === undefined).length };
    });
    total.reencrypted += rows.length - unreadable;
    total.unreadable += unreadable;
    after = rows.at(-1);
    if (rows.length < ROWS_AT_ONCE) return total;
  }
}

function ownerName(kind: EncryptedKind, { id, ...row }: EncryptedRow): string {
  return nameOf(kind === 'token' ? row : { ...row, secret_id: id });
}

/** Part of the encryption: in another row the text cannot be decrypted. */
function nameOf({ tenant_id, project_id, adapter_id, secret_id = 'token' }: SecretOwner): string {
  return `adapter ${tenant_id} ${project_id} ${adapter_id} ${secret_id}`;
}
