import { validationError } from '../../errors.ts';
import { issuesOf } from '../../http/error-handler.ts';
import type { RecordChange, Recording } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import { encryptSecrets, readableSecrets, type SecretsOwner } from './credentials.ts';
import {
  CHANNELS_OF,
  CONFIG_OF,
  mergeConfig,
  secretFieldsOf,
  splitConfig,
  type ProviderKind,
} from './kinds.ts';
import {
  insertProvider,
  lockProvider,
  selectProvider,
  softDeleteProvider,
  updateProvider,
  type ProviderRef,
  type ProviderRow,
} from './queries.ts';
import { providerResourceOf } from './provider-json.ts';
import { PROVIDER } from './read.ts';
import type { CreateProviderBody, PatchProviderBody } from './schema.ts';

/** The dependencies of changing providers; `credentials_keys` encrypt their secrets. */
export interface ChangeDeps {
  postgres: Postgres;
  clock: Clock;
  credentials_keys: EncryptionKeys;
}

/**
 * Creates a provider. Rejects with VALIDATION_ERROR when its kind does not send on the channel, or refuses the config.
 */
export async function createProvider(
  { postgres, clock, credentials_keys, record }: ChangeDeps & Recording,
  { tenant_id }: Pick<ProviderRef, 'tenant_id'>,
  { config, ...body }: CreateProviderBody,
): Promise<ProviderRow> {
  if (!CHANNELS_OF[body.kind].includes(body.channel)) {
    const message = `must be ${CHANNELS_OF[body.kind].join(' or ')}: ${body.kind} sends nothing else`;
    throw validationError([{ path: 'channel', message }]);
  }
  const owner = { tenant_id, provider_id: newId() };
  const now = new Date(clock.now_ms());
  const stored = storedConfig(credentials_keys, owner, body.kind, config);
  const row = { ...owner, ...body, ...stored, created_at: now, updated_at: now, deleted_at: null };
  await postgres.asTenant(tenant_id, (tx) =>
    Promise.all([insertProvider(tx, row), recordProvider(record, tx, null, row)]),
  );
  return row;
}

/**
 * Changes a provider. Fields that `config` does not name are kept, secrets too. Rejects with PROVIDER_NOT_FOUND or
 * VALIDATION_ERROR.
 */
export async function changeProvider(
  { postgres, clock, credentials_keys, record }: ChangeDeps & Recording,
  ref: ProviderRef,
  { config, ...patch }: PatchProviderBody,
): Promise<ProviderRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(PROVIDER, ref, await lockProvider(tx, ref));
    const stored = config === undefined ? {} : changedConfig(credentials_keys, row, config);
    const { name = row.name, status = row.status, rate_per_second = row.rate_per_second } = patch;
    const changed = { ...row, name, status, rate_per_second, ...stored, updated_at: now };
    await Promise.all([updateProvider(tx, changed), recordProvider(record, tx, row, changed)]);
    return changed;
  });
}

/** Soft delete, which also erases the secrets. Idempotent. Rejects with PROVIDER_NOT_FOUND. */
export async function deleteProvider(
  { postgres, clock, record }: Omit<ChangeDeps, 'credentials_keys'> & Recording,
  ref: ProviderRef,
): Promise<ProviderRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const live = await lockProvider(tx, ref);
    await softDeleteProvider(tx, ref, now);
    const [row] = await selectProvider(tx, ref);
    const deleted = requireRow(PROVIDER, ref, row);
    if (live !== undefined) await recordProvider(record, tx, live, deleted);
    return deleted;
  });
}

/** Writes the audit row, without the secrets: a change of these shows in `updated_at` only. */
async function recordProvider(
  record: RecordChange,
  tx: Tx,
  before: ProviderRow | null,
  after: ProviderRow,
): Promise<void> {
  const { tenant_id, provider_id: resource_id } = after;
  await record(tx, {
    tenant_id,
    project_id: null,
    resource_id,
    before: before && providerResourceOf(before),
    after: providerResourceOf(after),
  });
}

/**
 * The stored config with changes, split and encrypted again. When no key decrypts the stored secrets, the changes must
 * name all of them, optional ones too, so that none is lost without the caller's knowledge. Throws VALIDATION_ERROR.
 */
function changedConfig(keys: EncryptionKeys, row: ProviderRow, changes: Record<string, unknown>) {
  const secrets = row.credentials === null ? {} : readableSecrets(keys, row, row.credentials);
  if (secrets === undefined) {
    const missing = secretFieldsOf(row.kind).filter((name) => !(name in changes));
    const message = 'must be given again: the stored value cannot be decrypted';
    if (missing.length > 0)
      throw validationError(missing.map((name) => ({ path: `config.${name}`, message })));
  }
  return storedConfig(keys, row, row.kind, mergeConfig(row.config, secrets ?? {}, changes));
}

/** Checks a config and splits it into what may be shown and the encrypted secrets. Throws VALIDATION_ERROR. */
function storedConfig(
  keys: EncryptionKeys,
  owner: SecretsOwner,
  kind: ProviderKind,
  config: Record<string, unknown>,
) {
  const parsed = CONFIG_OF[kind].safeParse(config);
  if (!parsed.success) {
    throw validationError(
      issuesOf(parsed.error).map(({ path, message }) => ({
        path: path === '' ? 'config' : `config.${path}`,
        message,
      })),
    );
  }
  const { shown, secrets } = splitConfig(parsed.data);
  const credentials = Object.keys(secrets).length === 0 ? null : encryptSecrets(keys, owner, secrets);
  return { config: shown, credentials };
}
