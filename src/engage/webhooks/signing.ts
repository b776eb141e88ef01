import { activeAdapterSecrets, readSecret as readAdapterSecret } from '../../adapters/secrets.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { selectSigningSecrets } from './secret-queries.ts';
import { readSecret } from './secrets.ts';

/**
 * What signs the webhooks of each project, by its id: the secret of its active adapter, so that one secret works in both
 * directions; without one the newest of its own. Each is a function that decrypts it, or throws DecryptionFailed.
 */
export async function signingSecrets(
  sql: Tx,
  keys: EncryptionKeys,
  projects: readonly ProjectRef[],
): Promise<Map<string, () => string>> {
  const [own, adapters] = await Promise.all([
    selectSigningSecrets(sql, projects),
    activeAdapterSecrets(sql, projects),
  ]);
  return new Map([
    ...own.map((row) => [row.project_id, () => readSecret(keys, row, row.secret)] as const),
    ...adapters.map((row) => [row.project_id, () => readAdapterSecret(keys, row, row.secret)] as const),
  ]);
}
