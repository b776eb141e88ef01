import type { PendingQuery } from 'postgres';
import type { Tx } from '../platform/postgres/port.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

/** A sandbox: an adapter of that kind, or the built-in one of a project. */
export interface SandboxRef extends ProjectRef {
  adapter_slug: string;
}

/** A bonus that a sandbox was given. */
export interface SandboxBonusRow extends SandboxRef {
  grant_id: string;
  platform_bonus_id: string;
  status: 'active' | 'cancelled';
  sent: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
}

function columns(tx: Tx) {
  return tx`tenant_id, project_id, adapter_slug, grant_id, platform_bonus_id, status, sent, created_at, updated_at`;
}

function itself(tx: Tx, { tenant_id, project_id, adapter_slug }: SandboxRef, grant_id: string) {
  return tx`tenant_id = ${tenant_id} and project_id = ${project_id} and adapter_slug = ${adapter_slug}
    and grant_id = ${grant_id}`;
}

/** Keeps the bonus, unless the sandbox has one of this grant; returns the id of the bonus that it has now. */
export async function keepBonus(
  sql: Tx,
  sandbox: SandboxRef,
  {
    grant_id,
    platform_bonus_id,
    body,
    now,
  }: { grant_id: string; platform_bonus_id: string; body: string; now: Date },
): Promise<string> {
  await sql`
    insert into sandbox_bonuses (tenant_id, project_id, adapter_slug, grant_id, platform_bonus_id, status, sent,
      created_at, updated_at)
    values (${sandbox.tenant_id}, ${sandbox.project_id}, ${sandbox.adapter_slug}, ${grant_id}, ${platform_bonus_id},
      'active', ${body}::text::jsonb, ${now}, ${now})
    on conflict (tenant_id, project_id, adapter_slug, grant_id) do nothing`;
  const [row] = await selectBonus(sql, sandbox, grant_id);
  return row?.platform_bonus_id ?? platform_bonus_id;
}

/** The bonus of the grant. */
export function selectBonus(sql: Tx, sandbox: SandboxRef, grant_id: string): PendingQuery<SandboxBonusRow[]> {
  return sql<
    SandboxBonusRow[]
  >`select ${columns(sql)} from sandbox_bonuses where ${itself(sql, sandbox, grant_id)}`;
}

/** Cancels the bonus of the grant; one that is cancelled keeps its time. False when there is none. */
export async function cancelBonus(
  sql: Tx,
  sandbox: SandboxRef,
  grant_id: string,
  now: Date,
): Promise<boolean> {
  const { count } = await sql`
    update sandbox_bonuses
    set updated_at = case when status = 'cancelled' then updated_at else ${now}::timestamptz end, status = 'cancelled'
    where ${itself(sql, sandbox, grant_id)}`;
  return count > 0;
}

/**
 * A page of the sandbox's bonuses, the newest first: ids increase with time. The index of the list has the condition on
 * `-infinity`, so only lists use it.
 */
export function listBonuses(
  tx: Tx,
  { tenant_id, project_id, adapter_slug }: SandboxRef,
  after: string | undefined,
  limit: number,
): PendingQuery<SandboxBonusRow[]> {
  return tx<SandboxBonusRow[]>`
    select ${columns(tx)} from sandbox_bonuses
    where tenant_id = ${tenant_id} and project_id = ${project_id} and adapter_slug = ${adapter_slug}
      and created_at > '-infinity'
      ${after === undefined ? tx`` : tx`and platform_bonus_id < ${after}`}
    order by platform_bonus_id desc
    limit ${limit}`;
}
