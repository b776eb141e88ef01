import type { PendingQuery } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import { beyond, microseconds, type Listed, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { ProviderKind } from './kinds.ts';
import type { ProviderFilters } from './schema.ts';

/** The key of a provider. */
export interface ProviderRef {
  tenant_id: string;
  provider_id: string;
}

/** A provider as Postgres has it. */
export interface ProviderRow extends ProviderRef {
  name: string;
  kind: ProviderKind;
  channel: Channel;
  status: 'active' | 'paused';
  /** The fields of the config that may be shown. */
  config: Record<string, unknown>;
  /** The encrypted secrets; null for a provider without secrets. */
  credentials: Buffer | null;
  rate_per_second: number | null;
  /** Null: the provider accepts the credentials, or was not asked since they changed. */
  credentials_refused: CredentialsRefusal | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

/** What a provider said when it first refused the present credentials, and when, in ISO-8601. */
export interface CredentialsRefusal {
  code: string | null;
  message: string | null;
  at: string;
}

function columns(tx: Tx) {
  return tx`tenant_id, provider_id, name, kind, channel, status, config, credentials, rate_per_second,
    credentials_refused, created_at, updated_at, deleted_at`;
}

function itself(tx: Tx, { tenant_id, provider_id }: ProviderRef) {
  return tx`tenant_id = ${tenant_id} and provider_id = ${provider_id}`;
}

/** The provider, deleted or not; no row when the tenant has no provider of this id. */
export function selectProvider(tx: Tx, ref: ProviderRef): PendingQuery<ProviderRow[]> {
  return tx<ProviderRow[]>`select ${columns(tx)} from messaging_providers where ${itself(tx, ref)}`;
}

/** These providers of the tenant, deleted and paused ones too, in no order. */
export function selectProvidersByIds(
  sql: Tx,
  tenant_id: string,
  ids: readonly string[],
): PendingQuery<ProviderRow[]> {
  return sql<ProviderRow[]>`
    select ${columns(sql)} from messaging_providers
    where tenant_id = ${tenant_id} and provider_id = any(${plainArray(ids)}::text::uuid[])`;
}

/** The ids of those providers that exist and are not deleted. */
export async function selectExistingProviders(sql: Tx, refs: readonly ProviderRef[]): Promise<string[]> {
  const rows = await sql<{ provider_id: string }[]>`
    select p.provider_id
    from ${rowsOf(sql, 'asked', refs, { tenant_id: 'uuid', provider_id: 'uuid' })}
    cross join lateral (
      select m.provider_id from messaging_providers m
      where m.tenant_id = asked.tenant_id and m.provider_id = asked.provider_id and m.deleted_at is null
      offset 0) p`;
  return rows.map(({ provider_id }) => provider_id);
}

/** The oldest active provider of each channel that has one. */
export function selectDefaultProviders(sql: Tx, tenant_id: string): PendingQuery<ProviderRow[]> {
  return sql<ProviderRow[]>`
    select distinct on (channel) ${columns(sql)} from messaging_providers
    where tenant_id = ${tenant_id} and status = 'active' and deleted_at is null
    order by channel, created_at, provider_id`;
}

/** The provider of the id, in any status; for a null id the oldest active provider of the channel. */
export async function selectProviderFor(
  tx: Tx,
  tenant_id: string,
  channel: Channel,
  provider_id: string | null,
): Promise<ProviderRow | undefined> {
  if (provider_id !== null) return (await selectProvidersByIds(tx, tenant_id, [provider_id]))[0];
  return (await selectDefaultProviders(tx, tenant_id)).find((provider) => provider.channel === channel);
}

/** The provider, if it is not deleted, locked against change until the transaction ends. */
export async function lockProvider(tx: Tx, ref: ProviderRef): Promise<ProviderRow | undefined> {
  const [row] = await tx<ProviderRow[]>`
    select ${columns(tx)} from messaging_providers
    where ${itself(tx, ref)} and deleted_at is null for no key update`;
  return row;
}

/** A page of the providers that are not deleted, the newest first. */
export function listProviders(
  tx: Tx,
  { tenant_id }: Pick<ProviderRef, 'tenant_id'>,
  filters: ProviderFilters,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<ProviderRow>[]> {
  const nothing = tx``;
  const equal = (column: 'channel' | 'kind' | 'status') => {
    const value = filters[column];
    return value === undefined ? nothing : tx`and ${tx(column)} = ${value}`;
  };
  return tx<Listed<ProviderRow>[]>`
    select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us
    from messaging_providers
    where tenant_id = ${tenant_id} and deleted_at is null
      ${equal('channel')} ${equal('kind')} ${equal('status')} ${beyond(tx, 'created_at', 'provider_id', after)}
    order by created_at desc, provider_id desc
    limit ${limit}`;
}

/** Adds the provider. */
export async function insertProvider(tx: Tx, row: ProviderRow): Promise<void> {
  await tx`
    insert into messaging_providers (tenant_id, provider_id, name, kind, channel, status, config, credentials,
      rate_per_second, created_at, updated_at)
    values (${row.tenant_id}, ${row.provider_id}, ${row.name}, ${row.kind}, ${row.channel}, ${row.status},
      ${JSON.stringify(row.config)}::text::jsonb, ${row.credentials}, ${row.rate_per_second}, ${row.created_at},
      ${row.updated_at})`;
}

/** Changes a locked provider. */
export async function updateProvider(tx: Tx, row: ProviderRow): Promise<void> {
  await tx`
    update messaging_providers set
      name = ${row.name}, status = ${row.status}, config = ${JSON.stringify(row.config)}::text::jsonb,
      credentials = ${row.credentials}, rate_per_second = ${row.rate_per_second},
      credentials_refused = ${jsonOf(row.credentials_refused)}::text::jsonb, updated_at = ${row.updated_at}
    where ${itself(tx, row)}`;
}

/**
 * Notes that the provider refuses the credentials of the row, or with null that it accepts them. A row that was changed
 * since stays as it is: the outcome is of its old credentials.
 */
export async function noteCredentials(
  sql: Tx,
  row: ProviderRow,
  refused: CredentialsRefusal | null,
): Promise<void> {
  await sql`
    update messaging_providers set credentials_refused = ${jsonOf(refused)}::text::jsonb
    where ${itself(sql, row)} and deleted_at is null and updated_at = ${row.updated_at}
      and (credentials_refused is null) = ${refused !== null}`;
}

function jsonOf(refused: CredentialsRefusal | null): string | null {
  return refused === null ? null : JSON.stringify(refused);
}

/** Soft delete, which also erases the secrets; a provider that was deleted before keeps its time. */
export async function softDeleteProvider(tx: Tx, ref: ProviderRef, now: Date): Promise<void> {
  await tx`
    update messaging_providers set deleted_at = ${now}, updated_at = ${now}, credentials = null
    where ${itself(tx, ref)} and deleted_at is null`;
}
