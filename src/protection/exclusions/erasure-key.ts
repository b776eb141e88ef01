import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { readOrCreateSecret } from '../../http/auth/secret-file.ts';
import type { Config } from '../../config.ts';
import { newEncryptionKey } from '../../platform/encryption.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

const FILE = 'erasure-key';

/** What names a person, and how messages reach one. */
export type AddressKind = 'email' | 'phone' | 'push_token' | 'external_id';

/** The key of the hashes: the configured one, or a key that is generated once and kept in DATA_DIR. */
export async function loadErasureKey({
  erasure_key,
  data_dir,
}: Pick<Config, 'erasure_key' | 'data_dir'>): Promise<Buffer> {
  return Buffer.from(
    erasure_key ?? (await readOrCreateSecret(join(data_dir, FILE), newEncryptionKey)),
    'hex',
  );
}

/**
 * The hash under which an address stays when its person is forgotten (HMAC-SHA256). `spelled` is the address as it is
 * compared. Addresses are of the tenant, external_ids of the project. Without the key nobody can tell which address it is,
 * although there are few telephone numbers.
 */
export function addressHash(
  key: Buffer,
  { tenant_id, project_id }: ProjectRef,
  { kind, spelled }: { kind: AddressKind; spelled: string },
): Buffer {
  const scope = kind === 'external_id' ? `${tenant_id} ${project_id}` : tenant_id;
  return createHmac('sha256', key).update(`${scope}\n${kind}\n${spelled}`).digest();
}
