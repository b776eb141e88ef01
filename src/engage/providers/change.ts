import { isDeepStrictEqual } from 'node:util';
import { validationError } from '../../errors.ts';
import { issuesOf } from '../../http/error-handler.ts';
import { auditOf, type Auditing } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import { addressOf, requireEncryption, requireUsableDestinations } from './destinations.ts';
import { encryptSecrets, readableSecrets, type SecretsOwner } from './credentials.ts';
import {
  CHANNELS_OF,
  CONFIG_OF,
  mergeConfig,
  secretFieldsOf,
  splitConfig,
  type ProviderKind,
  type SplitConfig,
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
import { findProvider, PROVIDER } from './read.ts';
import type { CreateProviderBody, PatchProviderBody } from './schema.ts';

/** The dependencies of changing providers; `credentials_keys` encrypt their secrets. */
export interface ChangeDeps {
  postgres: Postgres;
  clock: Clock;
  egress: Egress;
  credentials_keys: EncryptionKeys;
  /** A provider was changed: its messages are tried at once when the transaction commits. */
  wakeQueuesOf: (tx: Tx, ref: ProviderRef) => Promise<void>;
}

/**
 * Creates a provider. Rejects with VALIDATION_ERROR when its kind does not send on the channel, or refuses the config,
 * or when a host in it may not be sent to.
 */
export async function createProvider(
  { postgres, clock, egress, credentials_keys, audit }: Omit<ChangeDeps, 'wakeQueuesOf'> & Auditing,
  { tenant_id }: Pick<ProviderRef, 'tenant_id'>,
  { config, ...body }: CreateProviderBody,
): Promise<ProviderRow> {
  if (!CHANNELS_OF[body.kind].includes(body.channel)) {
    const message = `must be ${CHANNELS_OF[body.kind].join(' or ')}: ${body.kind} sends nothing else`;
    throw validationError([{ path: 'channel', message }]);
  }
  const owner = { tenant_id, provider_id: newId() };
  const now = new Date(clock.now_ms());
  const checked = checkedConfig(body.kind, config);
  requireEncryption(egress, checked);
  const stored = storedConfig(credentials_keys, owner, checked);
  await requireUsableDestinations(egress, config);
  const times = { created_at: now, updated_at: now, deleted_at: null };
  const row = { ...owner, ...body, ...stored, credentials_refused: null, ...times };
  await postgres.asTenant(tenant_id, (tx) =>
    Promise.all([insertProvider(tx, row), auditProvider(audit, tx, row, null, row)]),
  );
  return row;
}

/**
 * Changes a provider. Fields that `config` does not name are kept; secrets as long as they go to the same scheme, host
 * and port. Its messages are tried at once. Rejects with PROVIDER_NOT_FOUND or VALIDATION_ERROR.
 */
export async function changeProvider(
  { postgres, clock, egress, credentials_keys, wakeQueuesOf, audit }: ChangeDeps & Auditing,
  ref: ProviderRef,
  { config, ...patch }: PatchProviderBody,
): Promise<ProviderRow> {
  if (config !== undefined) {
    // Before the transaction, because names are resolved. A change that comes in between is checked at each connection.
    const before = await findProvider(postgres, ref);
    await requireUsableDestinations(egress, mergeConfig(before.config, {}, config));
  }
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(PROVIDER, ref, await lockProvider(tx, ref));
    // What was refused is not known of a changed config.
    const { credentials_changed = false, ...stored } =
      config === undefined
        ? {}
        : { ...changedConfig({ egress, credentials_keys }, row, config), credentials_refused: null };
    const { name = row.name, status = row.status, rate_per_second = row.rate_per_second } = patch;
    const changed = { ...row, name, status, rate_per_second, ...stored, updated_at: now };
    await Promise.all([
      updateProvider(tx, changed),
      auditProvider(audit, tx, ref, row, { ...changed, credentials_changed }),
      wakeQueuesOf(tx, ref),
    ]);
    return changed;
  });
}

/** Soft delete, which also erases the secrets. Idempotent. Rejects with PROVIDER_NOT_FOUND. */
export async function deleteProvider(
  { postgres, clock, audit }: Pick<ChangeDeps, 'postgres' | 'clock'> & Auditing,
  ref: ProviderRef,
): Promise<ProviderRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const live = await lockProvider(tx, ref);
    await softDeleteProvider(tx, ref, now);
    const [row] = await selectProvider(tx, ref);
    const deleted = requireRow(PROVIDER, ref, row);
    if (live !== undefined) await auditProvider(audit, tx, ref, live, deleted);
    return deleted;
  });
}

const auditProvider = auditOf(PROVIDER, (row: AuditedProvider, _ref: { tenant_id: string }) => ({
  ...providerResourceOf(row),
  ...(row.credentials_changed === true ? { credentials_changed: true } : {}),
}));

/** A provider in the audit log: without its secrets, but with the fact that they changed. */
type AuditedProvider = ProviderRow & { credentials_changed?: boolean };

/**
 * The stored config with changes, split and encrypted again. When no key decrypts the stored secrets, the changes must
 * name all of them, optional ones too, so that none is lost without the caller's knowledge. When the changes lead to
 * another address, they must name those that are stored: who does not know a secret could have it sent to a host of his
 * choice. Throws VALIDATION_ERROR.
 */
function changedConfig(
  { egress, credentials_keys: keys }: Pick<ChangeDeps, 'egress' | 'credentials_keys'>,
  row: ProviderRow,
  changes: Record<string, unknown>,
) {
  const secrets = row.credentials === null ? {} : readableSecrets(keys, row, row.credentials);
  if (secrets === undefined) {
    const missing = secretFieldsOf(row.kind).filter((name) => !(name in changes));
    const message = 'must be given again: the stored value cannot be decrypted';
    if (missing.length > 0)
      throw validationError(missing.map((name) => ({ path: `config.${name}`, message })));
  }
  const merged = checkedConfig(row.kind, mergeConfig(row.config, secrets ?? {}, changes));
  const [from, to] = [addressOf(row.config), addressOf(merged.shown)];
  const moved = from === to ? [] : Object.keys(secrets ?? {}).filter((name) => !(name in changes));
  if (moved.length > 0) {
    const message = `must be given again: the stored value is for ${from}, and messages go to ${to} now`;
    throw validationError(moved.map((name) => ({ path: `config.${name}`, message })));
  }
  requireEncryption(egress, merged);
  const credentials_changed = !isDeepStrictEqual(merged.secrets, secrets);
  return { ...storedConfig(keys, row, merged), credentials_changed };
}

/** Checks a config and splits it into what may be shown and the secrets. Throws VALIDATION_ERROR. */
function checkedConfig(kind: ProviderKind, config: Record<string, unknown>): SplitConfig {
  const parsed = CONFIG_OF[kind].safeParse(config);
  if (!parsed.success) {
    throw validationError(
      issuesOf(parsed.error, config).map(({ path, message }) => ({
        path: path === '' ? 'config' : `config.${path}`,
        message,
      })),
    );
  }
  return splitConfig(parsed.data);
}

/** The columns of a config: the secrets encrypted. */
function storedConfig(keys: EncryptionKeys, owner: SecretsOwner, { shown, secrets }: SplitConfig) {
  const credentials = Object.keys(secrets).length === 0 ? null : encryptSecrets(keys, owner, secrets);
  return { config: shown, credentials };
}
