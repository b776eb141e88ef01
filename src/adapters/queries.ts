import type { PendingQuery } from 'postgres';
import { beyond, microseconds, type Listed, type TimePosition } from '../platform/postgres/keyset.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../tenants/project-ref.ts';
import type { Capabilities } from './protocol.ts';

export const ADAPTER_KINDS = ['http', 'sandbox'] as const;
export type AdapterKind = (typeof ADAPTER_KINDS)[number];

export const AUTH_TYPES = ['none', 'bearer'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];

/** The key of an adapter. */
export interface AdapterRef extends ProjectRef {
  adapter_id: string;
}

/** An adapter as Postgres has it. */
export interface AdapterRow extends AdapterRef {
  slug: string;
  kind: AdapterKind;
  /** Null: a sandbox. */
  base_url: string | null;
  auth_type: AuthType;
  /** The bearer token, encrypted. */
  token: Buffer | null;
  timeout_ms: number;
  max_rps: number;
  max_in_flight: number;
  capabilities: Capabilities;
  is_active: boolean;
  created_at: Date;
  updated_at: Date;
}

function columns(tx: Tx) {
  return tx`tenant_id, project_id, adapter_id, slug, kind, base_url, auth_type, token, timeout_ms, max_rps,
    max_in_flight, capabilities, is_active, created_at, updated_at`;
}

function itself(tx: Tx, { tenant_id, project_id, adapter_id }: AdapterRef) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and adapter_id = ${adapter_id}`;
}

/** The adapter; no row when the project has no adapter of this id. */
export function selectAdapter(tx: Tx, ref: AdapterRef): PendingQuery<AdapterRow[]> {
  return tx<AdapterRow[]>`select ${columns(tx)} from adapters where ${itself(tx, ref)}`;
}

/** The active adapter of the project; no row when it has none. */
export function selectActiveAdapter(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
): PendingQuery<AdapterRow[]> {
  return tx<AdapterRow[]>`
    select ${columns(tx)} from adapters
    where tenant_id = ${tenant_id} and project_id = ${project_id} and is_active`;
}

/** The slug of each project's active adapter; null: it has none. `has_adapters`: it has one, active or not. */
export async function selectActiveSlugs(
  tx: Tx,
  projects: readonly ProjectRef[],
): Promise<{ project_id: string; slug: string | null; has_adapters: boolean }[]> {
  return tx<{ project_id: string; slug: string | null; has_adapters: boolean }[]>`
    select r.project_id, active.slug, any_one.slug is not null as has_adapters
    from ${rowsOf(tx, 'r', projects, PROJECT_KEY)}
    left join lateral (
      select a.slug from adapters a where a.tenant_id = r.tenant_id and a.project_id = r.project_id and a.is_active
      offset 0) active on true
    left join lateral (
      select a.slug from adapters a where a.tenant_id = r.tenant_id and a.project_id = r.project_id limit 1) any_one on true`;
}

/** The adapter of the slug, of any tenant: for look-ups that do not know the tenant yet. */
export function selectAdapterBySlug(sql: Tx, slug: string): PendingQuery<AdapterRow[]> {
  return sql<AdapterRow[]>`select ${columns(sql)} from adapters where slug = ${slug}`;
}

/** The adapter, locked against change until the transaction ends. */
export async function lockAdapter(tx: Tx, ref: AdapterRef): Promise<AdapterRow | undefined> {
  const [row] = await tx<AdapterRow[]>`
    select ${columns(tx)} from adapters where ${itself(tx, ref)} for no key update`;
  return row;
}

/** How many adapters the project has, up to `limit`. */
export async function countAdapters(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  limit: number,
): Promise<number> {
  const [row] = await tx<{ adapters: number }[]>`
    select count(*)::integer as adapters from (
      select from adapters where tenant_id = ${tenant_id} and project_id = ${project_id} limit ${limit}) a`;
  return row?.adapters ?? 0;
}

/** A page of the project's adapters, the newest first. */
export function listAdapters(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<Listed<AdapterRow>[]> {
  return tx<Listed<AdapterRow>[]>`
    select ${columns(tx)}, ${microseconds(tx, 'created_at')} as created_us from adapters
    where tenant_id = ${tenant_id} and project_id = ${project_id} ${beyond(tx, 'created_at', 'adapter_id', after)}
    order by created_at desc, adapter_id desc limit ${limit}`;
}

/** Adds the adapter. */
export async function insertAdapter(tx: Tx, row: AdapterRow): Promise<void> {
  await tx`
    insert into adapters (tenant_id, project_id, adapter_id, slug, kind, base_url, auth_type, token, timeout_ms,
      max_rps, max_in_flight, capabilities, is_active, created_at, updated_at)
    values (${row.tenant_id}, ${row.project_id}, ${row.adapter_id}, ${row.slug}, ${row.kind}, ${row.base_url},
      ${row.auth_type}, ${row.token}, ${row.timeout_ms}, ${row.max_rps}, ${row.max_in_flight},
      ${JSON.stringify(row.capabilities)}::text::jsonb, ${row.is_active}, ${row.created_at}, ${row.updated_at})`;
}

/** Changes a locked adapter. */
export async function updateAdapter(tx: Tx, row: AdapterRow): Promise<void> {
  await tx`
    update adapters set
      base_url = ${row.base_url}, auth_type = ${row.auth_type}, token = ${row.token},
      timeout_ms = ${row.timeout_ms}, max_rps = ${row.max_rps}, max_in_flight = ${row.max_in_flight},
      capabilities = ${JSON.stringify(row.capabilities)}::text::jsonb, is_active = ${row.is_active},
      updated_at = ${row.updated_at}
    where ${itself(tx, row)}`;
}

/** NOTIFY channel; the payload is the id of a tenant whose adapters or their secrets changed. */
export const ADAPTERS_CHANNEL = 'adapters_changed';

/** Tells the other processes that adapters of the tenant changed, when the transaction commits. */
export async function notifyAdaptersChanged(tx: Tx, tenant_id: string): Promise<void> {
  await tx`select pg_notify(${ADAPTERS_CHANNEL}, ${tenant_id})`;
}
