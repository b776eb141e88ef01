import type { PendingQuery } from 'postgres';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import type { SubscriptionRef } from './subscription-ref.ts';

/** The key of a webhook secret. */
export interface SecretRef extends ProjectRef {
  secret_id: string;
}

/** A webhook secret as Postgres has it. */
export interface SecretRow extends SecretRef {
  /** Encrypted; null: deleted. */
  secret: Buffer | null;
  created_at: Date;
  deleted_at: Date | null;
}

function itself(tx: Tx, { tenant_id, project_id, secret_id }: SecretRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and secret_id = ${secret_id}`;
}

/** One change of a project's secrets at a time, until the transaction ends. */
export async function lockProjectSecrets(tx: Tx, { project_id }: ProjectRef): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`webhook secrets ${project_id}`}, 0))`;
}

/** How many secrets of the project are not deleted. */
export async function countSecrets(tx: Tx, { tenant_id, project_id }: ProjectRef): Promise<number> {
  const [row] = await tx<{ secrets: number }[]>`
    select count(*)::integer as secrets from webhook_secrets
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null and subscription_id is null`;
  return row?.secrets ?? 0;
}

/** Adds the secret: of the project, or of a subscription. */
export async function insertSecret(
  tx: Tx,
  row: Pick<SecretRow, keyof SecretRef | 'secret' | 'created_at'>,
  subscription_id: string | null = null,
): Promise<void> {
  await tx`
    insert into webhook_secrets (tenant_id, project_id, secret_id, secret, created_at, subscription_id)
    values (${row.tenant_id}, ${row.project_id}, ${row.secret_id}, ${row.secret}, ${row.created_at}, ${subscription_id})`;
}

/** The secret of the project, deleted or not. */
export function selectSecret(tx: Tx, ref: SecretRef): PendingQuery<SecretRow[]> {
  return tx<SecretRow[]>`
    select tenant_id, project_id, secret_id, secret, created_at, deleted_at from webhook_secrets
    where ${itself(tx, ref)} and subscription_id is null`;
}

/** Deletes the secret: the row stays, its text does not. */
export async function eraseSecret(tx: Tx, ref: SecretRef, now: Date): Promise<void> {
  await tx`update webhook_secrets set secret = null, deleted_at = ${now} where ${itself(tx, ref)}`;
}

/** A page of the project's secrets that are not deleted, the newest first. */
export function listSecrets(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<SecretRow>[]> {
  return tx<Listed<SecretRow>[]>`
    select tenant_id, project_id, secret_id, secret, created_at, deleted_at, ${microseconds(tx, 'created_at')} as created_us
    from webhook_secrets
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null and subscription_id is null
      ${beyond(tx, 'created_at', 'secret_id', after)}
    order by created_at desc, secret_id desc limit ${limit}`;
}

/** The newest secret of each of these projects that has one. */
export async function selectSigningSecrets(
  sql: Tx,
  projects: readonly ProjectRef[],
): Promise<(SecretRef & { secret: Buffer })[]> {
  return sql<(SecretRef & { secret: Buffer })[]>`
    select s.tenant_id, s.project_id, s.secret_id, s.secret from ${rowsOf(sql, 'p', projects, PROJECT_KEY)}
    cross join lateral (
      select * from webhook_secrets s
      where s.tenant_id = p.tenant_id and s.project_id = p.project_id and s.deleted_at is null
        and s.subscription_id is null
      order by s.created_at desc, s.secret_id desc limit 1) s`;
}

/** The secret of each of these subscriptions. */
export async function selectSubscriptionSecrets(
  sql: Tx,
  subscriptions: readonly SubscriptionRef[],
): Promise<(SecretRef & SubscriptionRef & { secret: Buffer })[]> {
  if (subscriptions.length === 0) return [];
  return sql<(SecretRef & SubscriptionRef & { secret: Buffer })[]>`
    select s.tenant_id, s.project_id, s.subscription_id, s.secret_id, s.secret
    from ${rowsOf(sql, 'e', subscriptions, { ...PROJECT_KEY, subscription_id: 'uuid' })}
    cross join lateral (
      select * from webhook_secrets s
      where s.subscription_id = e.subscription_id and s.tenant_id = e.tenant_id and s.project_id = e.project_id
        and s.deleted_at is null
      order by s.created_at desc, s.secret_id desc limit 1) s`;
}

/** Deletes the secrets of a subscription: the rows stay, their texts do not. Returns the id of one; undefined: it had none. */
export async function eraseSubscriptionSecrets(
  tx: Tx,
  { tenant_id, project_id, subscription_id }: SubscriptionRef,
  now: Date,
): Promise<string | undefined> {
  const [row] = await tx<{ secret_id: string }[]>`
    update webhook_secrets set secret = null, deleted_at = ${now}
    where subscription_id = ${subscription_id} and tenant_id = ${tenant_id} and project_id = ${project_id}
      and deleted_at is null
    returning secret_id`;
  return row?.secret_id;
}

/** Secrets after `after` that do not begin with `head`, locked against change until the transaction ends. */
export async function lockSecretsOfOtherKeys(
  tx: Tx,
  head: Buffer,
  after: SecretRef | undefined,
  limit: number,
): Promise<(SecretRef & { secret: Buffer })[]> {
  const further =
    after === undefined
      ? tx``
      : tx`and (tenant_id, project_id, secret_id) > (${after.tenant_id}, ${after.project_id}, ${after.secret_id})`;
  return tx<(SecretRef & { secret: Buffer })[]>`
    select tenant_id, project_id, secret_id, secret from webhook_secrets
    where secret is not null and substring(secret for ${head.length}) <> ${head} ${further}
    order by tenant_id, project_id, secret_id
    limit ${limit}
    for no key update`;
}

/** Stores the same secret, encrypted with another key. */
export async function updateSecret(tx: Tx, ref: SecretRef, secret: Buffer): Promise<void> {
  await tx`update webhook_secrets set secret = ${secret} where ${itself(tx, ref)}`;
}
