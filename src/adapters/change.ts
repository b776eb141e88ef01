import { newWebhookSecret } from '../http/auth/webhook-signature.ts';
import { ApiError, validationError } from '../errors.ts';
import { auditOf, type Auditing } from '../http/audit.ts';
import { requireRow } from '../http/record.ts';
import type { Clock } from '../platform/clock.ts';
import { EgressRefused, type Egress } from '../platform/egress/egress.ts';
import type { EncryptionKeys } from '../platform/encryption.ts';
import { newId } from '../platform/ids.ts';
import type { Postgres, Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import { adapterResourceOf } from './adapter-json.ts';
import { SANDBOX_SLUG } from './platform.ts';
import type { Platforms } from './platforms.ts';
import {
  countAdapters,
  insertAdapter,
  lockAdapter,
  notifyAdaptersChanged,
  updateAdapter,
  type AdapterKind,
  type AdapterRef,
  type AdapterRow,
} from './queries.ts';
import { ADAPTER, findAdapter } from './read.ts';
import type { AuthBody, CreateAdapterBody, PatchAdapterBody } from './schema.ts';
import { expireCurrentSecret, insertSecret, selectSecrets } from './secret-queries.ts';
import { encryptSecret } from './secrets.ts';

/** The dependencies of changing adapters; `credentials_keys` encrypt their tokens and secrets. */
export interface ChangeDeps {
  postgres: Postgres;
  clock: Clock;
  egress: Egress;
  credentials_keys: EncryptionKeys;
  /** Those of this process. */
  platforms: Pick<Platforms, 'evict'>;
}

/** How long the secret before a rotation stays valid. */
export const ROTATION_MS = 24 * 3_600_000;

/** Adapters of a project. They are never removed, because grants and webhooks name them. */
const MAX_ADAPTERS = 50;
/** Secrets of an adapter that are valid at a time. */
const MAX_SECRETS = 10;

/** An adapter and the text of its new secret, which is known only now. */
export interface WithSecret {
  row: AdapterRow;
  secret: string;
}

/** An adapter in the audit log: without its token and secrets, but with the fact that they changed. */
type AuditedAdapter = AdapterRow & { token_changed?: boolean; secret_id?: string };

const auditAdapter = auditOf(
  ADAPTER,
  ({ token_changed, secret_id, ...row }: AuditedAdapter, _ref: AdapterRef) => ({
    ...adapterResourceOf(row),
    ...(token_changed === true ? { token_changed } : {}),
    ...(secret_id === undefined ? {} : { secret_id }),
  }),
);

/**
 * Creates an adapter with its first secret. Rejects with VALIDATION_ERROR, ADAPTER_SLUG_TAKEN, ADAPTER_ALREADY_ACTIVE,
 * or with CONFLICT when the project has 50.
 */
export async function createAdapter(
  { audit, ...deps }: ChangeDeps & Auditing,
  project: ProjectRef,
  { auth, base_url = null, capabilities, ...body }: CreateAdapterBody,
): Promise<WithSecret> {
  const { clock, credentials_keys } = deps;
  await requireUsableUrl(deps, body.kind, base_url);
  if (body.slug === SANDBOX_SLUG) throw slugTaken(body.slug);
  const now = new Date(clock.now_ms());
  const ref = { tenant_id: project.tenant_id, project_id: project.project_id, adapter_id: newId() };
  const row = {
    ...ref,
    ...body,
    base_url,
    capabilities: { ...capabilities, kyc: capabilities.kyc ?? body.kind === 'http' },
    ...authOf(credentials_keys, ref, auth),
    created_at: now,
    updated_at: now,
  };
  return withConflicts(body.slug, () =>
    change(deps, ref.tenant_id, async (tx) => {
      if ((await countAdapters(tx, ref, MAX_ADAPTERS)) >= MAX_ADAPTERS) {
        throw new ApiError(
          'CONFLICT',
          `the project has ${MAX_ADAPTERS} adapters: change one that is not active`,
        );
      }
      await insertAdapter(tx, row);
      const { secret } = await addSecret(tx, ref, { credentials_keys, now });
      await auditAdapter(audit, tx, ref, null, row);
      return { row, secret };
    }),
  );
}

/**
 * Changes an adapter; capabilities that the patch does not name are kept. A token is kept as long as calls
 * go to the same scheme, host and port. Rejects with ADAPTER_NOT_FOUND, VALIDATION_ERROR or ADAPTER_ALREADY_ACTIVE.
 */
export async function changeAdapter(
  { audit, ...deps }: ChangeDeps & Auditing,
  ref: AdapterRef,
  { auth, capabilities, ...patch }: PatchAdapterBody,
): Promise<AdapterRow> {
  const { postgres, clock, credentials_keys } = deps;
  if (patch.base_url !== undefined) {
    // Before the transaction, because names are resolved.
    await requireUsableUrl(deps, (await findAdapter(postgres, ref)).kind, patch.base_url);
  }
  const now = new Date(clock.now_ms());
  return withConflicts('', () =>
    change(deps, ref.tenant_id, async (tx) => {
      const before = requireRow(ADAPTER, ref, await lockAdapter(tx, ref));
      requireToken(before, { ...patch, auth });
      const changed: AdapterRow = {
        ...before,
        ...definedOf(patch),
        ...(auth === undefined ? {} : authOf(credentials_keys, ref, auth, before.token)),
        capabilities: { ...before.capabilities, ...definedOf(capabilities ?? {}) },
        updated_at: now,
      };
      const token_changed = auth?.token !== undefined;
      await Promise.all([
        updateAdapter(tx, changed),
        auditAdapter(audit, tx, ref, before, { ...changed, token_changed }),
      ]);
      return changed;
    }),
  );
}

/**
 * Makes a new secret, which signs from now on; the one before it is valid for 24 more hours. Rejects with
 * ADAPTER_NOT_FOUND, or with CONFLICT when 10 secrets are valid.
 */
export async function rotateSecret(
  { audit, ...deps }: ChangeDeps & Auditing,
  ref: AdapterRef,
): Promise<WithSecret> {
  const { clock, credentials_keys } = deps;
  const now = new Date(clock.now_ms());
  return change(deps, ref.tenant_id, async (tx) => {
    const row = requireRow(ADAPTER, ref, await lockAdapter(tx, ref));
    const valid = await selectSecrets(tx, ref, now);
    if (valid.length >= MAX_SECRETS) {
      throw new ApiError(
        'CONFLICT',
        `${MAX_SECRETS} secrets of the adapter are valid: wait until one has expired`,
      );
    }
    await expireCurrentSecret(tx, ref, new Date(now.getTime() + ROTATION_MS));
    const { secret, secret_id } = await addSecret(tx, ref, { credentials_keys, now });
    const rotated = { ...row, updated_at: now };
    const audited_before = { ...row, ...(valid[0] === undefined ? {} : { secret_id: valid[0].secret_id }) };
    await Promise.all([
      updateAdapter(tx, rotated),
      auditAdapter(audit, tx, ref, audited_before, { ...rotated, secret_id }),
    ]);
    return { row: rotated, secret };
  });
}

async function addSecret(
  tx: Tx,
  ref: AdapterRef,
  { credentials_keys, now }: { credentials_keys: EncryptionKeys; now: Date },
): Promise<{ secret: string; secret_id: string }> {
  const secret = newWebhookSecret();
  const owner = { ...ref, secret_id: newId() };
  const encrypted = encryptSecret(credentials_keys, owner, secret);
  await insertSecret(tx, { ...owner, secret: encrypted, created_at: now, expires_at: null });
  return { secret, secret_id: owner.secret_id };
}

/**
 * Throws VALIDATION_ERROR when the stored token would go to another scheme, host or port than it was given for: who does
 * not know it could have it sent to an address of his choice.
 */
function requireToken(
  before: AdapterRow,
  { base_url, auth }: Pick<PatchAdapterBody, 'base_url' | 'auth'>,
): void {
  const { token, base_url: stored } = before;
  const keeps = token !== null && auth?.token === undefined && auth?.type !== 'none';
  if (!keeps || stored === null || base_url === undefined) return;
  const [from, to] = [new URL(stored).origin, new URL(base_url).origin];
  if (from === to) return;
  const message = `must be given again: the stored token is for ${from}, and base_url leads to ${to} now`;
  throw validationError([{ path: 'auth.token', message }]);
}

/** The columns of `auth`; `stored` is the token that a bearer without one keeps. Throws VALIDATION_ERROR. */
function authOf(
  keys: EncryptionKeys,
  ref: AdapterRef,
  { type, token }: AuthBody,
  stored: Buffer | null = null,
): Pick<AdapterRow, 'auth_type' | 'token'> {
  if (type === 'none') return { auth_type: type, token: null };
  const encrypted = token === undefined ? stored : encryptSecret(keys, ref, token);
  if (encrypted === null)
    throw validationError([{ path: 'auth.token', message: 'is required for the type bearer' }]);
  return { auth_type: type, token: encrypted };
}

/** Throws VALIDATION_ERROR unless the kind has such a URL, and calls may go to it. */
async function requireUsableUrl(
  { egress }: Pick<ChangeDeps, 'egress'>,
  kind: AdapterKind,
  base_url: string | null,
): Promise<void> {
  const refuse = (message: string) => validationError([{ path: 'base_url', message }]);
  if (kind === 'sandbox') {
    if (base_url !== null) throw refuse('must be absent: a sandbox is not called');
    return;
  }
  if (base_url === null) throw refuse('is required for the kind http');
  try {
    await egress.checkUrl(base_url);
  } catch (error) {
    if (!(error instanceof EgressRefused)) throw error;
    throw refuse(error.message);
  }
}

/**
 * Changes adapters of a tenant in a transaction. Its commit notifies the other processes; this one reads them again at their next
 * use, also when it is not known whether the commit was done.
 */
async function change<T>(
  { postgres, platforms }: Pick<ChangeDeps, 'postgres' | 'platforms'>,
  tenant_id: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  try {
    return await postgres.asTenant(tenant_id, async (tx) => {
      const changed = await work(tx);
      await notifyAdaptersChanged(tx, tenant_id);
      return changed;
    });
  } finally {
    platforms.evict(tenant_id);
  }
}

/** Names the conflict when a unique index refuses a change. */
async function withConflicts<T>(slug: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    const { code, constraint_name } = error as { code?: unknown; constraint_name?: unknown };
    if (code !== '23505') throw error;
    if (constraint_name === 'adapters_slug') throw slugTaken(slug, error);
    if (constraint_name !== 'adapters_active') throw error;
    const message = 'another adapter of the project is active: change its is_active to false before';
    throw new ApiError('ADAPTER_ALREADY_ACTIVE', message, { cause: error });
  }
}

function slugTaken(slug: string, cause?: unknown): ApiError {
  return new ApiError('ADAPTER_SLUG_TAKEN', `the slug "${slug}" is in use: choose another`, { cause });
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The fields that have a value. */
function definedOf<T extends object>(fields: T): Partial<Defined<T>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<
    Defined<T>
  >;
}
