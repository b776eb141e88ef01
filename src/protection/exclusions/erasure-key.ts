import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { readOrCreateSecret } from '../../http/auth/secret-file.ts';
import { ERASING_ROLES, type Config } from '../../config.ts';
import { newEncryptionKey } from '../../platform/encryption.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

const FILE = 'erasure-key';

/** What names a person, and how messages reach one. */
export type AddressKind = 'email' | 'phone' | 'push_token' | 'external_id';

/**
 * The key of the hashes: the configured one, or a key that is generated once and kept in DATA_DIR. Rejects with TypeError in
 * a process without one of {@link ERASING_ROLES}, which has none: with one of its own it would recognise nobody.
 */
export async function loadErasureKey({
  erasure_key,
  data_dir,
  roles,
}: Pick<Config, 'erasure_key' | 'data_dir' | 'roles'>): Promise<Buffer> {
  if (!ERASING_ROLES.some((role) => roles.has(role))) {
    throw new TypeError('no role of this process is one of ERASING_ROLES');
  }
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
