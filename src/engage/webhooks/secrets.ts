import { newWebhookSecret } from '../../http/auth/webhook-signature.ts';
import { ApiError } from '../../errors.ts';
import { auditOf, type AuditChange, type Auditing } from '../../http/audit.ts';
import { requireRow, type RecordKind } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  DecryptionFailed,
  decryptText,
  encryptText,
  reencryptText,
  type EncryptionKeys,
} from '../../platform/encryption.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import {
  countSecrets,
  eraseSecret,
  eraseSubscriptionSecrets,
  insertSecret,
  lockProjectSecrets,
  selectSecret,
  type SecretRef,
  type SecretRow,
} from './secret-queries.ts';
import type { SubscriptionRef } from './subscription-ref.ts';

/** The kind of a secret that signs webhooks of a project. */
export const WEBHOOK_SECRET: RecordKind<'project', 'secret_id'> = {
  scope: 'project',
  noun: 'webhook secret',
  id: 'secret_id',
  not_found: 'NOT_FOUND',
};

/** A rotation needs two at a time. */
const MAX_SECRETS = 10;

interface Deps {
  postgres: Postgres;
  clock: Clock;
  credentials_keys: EncryptionKeys;
}

/** A secret as the API shows it: without its text. */
export function secretResourceOf({ secret_id, created_at, deleted_at }: SecretRow) {
  return { id: secret_id, created_at, deleted_at };
}

const auditSecret = auditOf(WEBHOOK_SECRET, (row: SecretRow, _ref: ProjectRef) => secretResourceOf(row));

/**
 * Makes a secret, which signs all webhooks of the project from now on; this is the only time that its text is known.
 * Rejects with CONFLICT when the project has 10.
 */
export async function createSecret(
  { postgres, clock, credentials_keys, audit }: Deps & Auditing,
  project: ProjectRef,
): Promise<{ id: string; secret: string; created_at: Date }> {
  return postgres.asTenant(project.tenant_id, async (tx) => {
    await lockProjectSecrets(tx, project);
    if ((await countSecrets(tx, project)) >= MAX_SECRETS) {
      throw new ApiError(
        'CONFLICT',
        `the project has ${MAX_SECRETS} webhook secrets: delete one that is not used`,
      );
    }
    return addSecret(tx, project, { credentials_keys, now: new Date(clock.now_ms()), audit });
  });
}

/** Writes a new secret for a project that exists. */
export async function addSecret(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { credentials_keys, now, audit }: { credentials_keys: EncryptionKeys; now: Date; audit: AuditChange },
): Promise<{ id: string; secret: string; created_at: Date }> {
  const secret = newWebhookSecret();
  const ref = { tenant_id, project_id, secret_id: newId() };
  const encrypted = encryptText(credentials_keys, ownerOf(ref), secret);
  const row = { ...ref, secret: encrypted, created_at: now, deleted_at: null };
  await Promise.all([insertSecret(tx, row), auditSecret(audit, tx, ref, null, row)]);
  return { id: row.secret_id, secret, created_at: now };
}

/**
 * Writes a secret that signs what is sent to a subscription from now on, in place of those before; returns its text, which
 * is known only now, its id, and that of the one before.
 */
export async function addSubscriptionSecret(
  tx: Tx,
  owner: SubscriptionRef,
  { credentials_keys, now }: { credentials_keys: EncryptionKeys; now: Date },
): Promise<{ secret: string; secret_id: string; before_id: string | undefined }> {
  const secret = newWebhookSecret();
  const { tenant_id, project_id, subscription_id } = owner;
  const ref = { tenant_id, project_id, secret_id: newId() };
  const row = { ...ref, secret: encryptText(credentials_keys, ownerOf(ref), secret), created_at: now };
  const before_id = await eraseSubscriptionSecrets(tx, owner, now);
  await insertSecret(tx, row, subscription_id);
  return { secret, secret_id: ref.secret_id, before_id };
}

/** Deletes a secret; its text is erased. Idempotent. Rejects with NOT_FOUND. */
export async function deleteSecret(
  { postgres, clock, audit }: Omit<Deps, 'credentials_keys'> & Auditing,
  ref: SecretRef,
): Promise<SecretRow> {
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    await lockProjectSecrets(tx, ref);
    const [before] = await selectSecret(tx, ref);
    const row = requireRow(WEBHOOK_SECRET, ref, before);
    if (row.deleted_at !== null) return row;
    const after = { ...row, secret: null, deleted_at: new Date(clock.now_ms()) };
    await Promise.all([eraseSecret(tx, ref, after.deleted_at), auditSecret(audit, tx, ref, row, after)]);
    return after;
  });
}

/** The text of a secret. Throws {@link DecryptionFailed} when no key in `keys` decrypts it. */
export function readSecret(keys: EncryptionKeys, ref: SecretRef, encrypted: Uint8Array): string {
  try {
    return decryptText(keys, ownerOf(ref), encrypted);
  } catch (cause) {
    if (!(cause instanceof DecryptionFailed)) throw cause;
    throw new DecryptionFailed(
      `the webhook secret ${ref.secret_id} cannot be decrypted: ${cause.message} ` +
        '(CREDENTIALS_KEY, CREDENTIALS_KEY_PREVIOUS)',
      { cause },
    );
  }
}

/** The same secret encrypted with the current key; undefined when no key in `keys` decrypts it. */
export function reencryptSecret(
  keys: EncryptionKeys,
  ref: SecretRef,
  encrypted: Uint8Array,
): Buffer | undefined {
  return reencryptText(keys, ownerOf(ref), encrypted);
}

/** Part of the encryption: in another row the secret cannot be decrypted. */
function ownerOf({ tenant_id, project_id, secret_id }: SecretRef): string {
  return `webhook ${tenant_id} ${project_id} ${secret_id}`;
}
