import type { Tx } from '../../platform/postgres/port.ts';
import type { ProviderRef } from './queries.ts';

/** A provider's secrets as they are stored. */
export interface EncryptedRow extends ProviderRef {
  credentials: Buffer;
}

/** The credentials of at most `limit` providers of all tenants, the oldest providers first. */
export async function selectOldestCredentials(sql: Tx, limit: number): Promise<EncryptedRow[]> {
  return sql<EncryptedRow[]>`
    select tenant_id, provider_id, credentials
    from messaging_providers
    where credentials is not null
    order by created_at, tenant_id, provider_id
    limit ${limit}`;
}

/** Rows after `after` whose secrets do not begin with `head`, locked against change until the transaction ends. */
export async function lockOtherKeys(
  tx: Tx,
  head: Buffer,
  after: ProviderRef | undefined,
  limit: number,
): Promise<EncryptedRow[]> {
  const beyond =
    after === undefined
      ? tx``
      : tx`and (tenant_id, provider_id) > (${after.tenant_id}, ${after.provider_id})`;
  return tx<EncryptedRow[]>`
    select tenant_id, provider_id, credentials
    from messaging_providers
    where credentials is not null and substring(credentials for ${head.length}) <> ${head} ${beyond}
    order by tenant_id, provider_id
    limit ${limit}
    for no key update`;
}

/** Stores the same secrets, encrypted with another key; `updated_at` stays, because the provider has not changed. */
export async function updateCredentials(
  tx: Tx,
  { tenant_id, provider_id }: ProviderRef,
  credentials: Buffer,
): Promise<void> {
  await tx`
    update messaging_providers set credentials = ${credentials}
    where tenant_id = ${tenant_id} and provider_id = ${provider_id}`;
}
