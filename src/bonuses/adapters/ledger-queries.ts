import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** A webhook of a platform in the ledger (spec part 2). */
export interface LedgerKey {
  tenant_id: string;
  adapter_slug: string;
  event_id: string;
}

/** The hash of the body that had its effect under this id. */
export function selectBodyHash(
  tx: Tx,
  { tenant_id, adapter_slug, event_id }: LedgerKey,
): PendingQuery<{ body_hash: Buffer }[]> {
  return tx<{ body_hash: Buffer }[]>`
    select body_hash from adapter_webhooks where tenant_id = ${tenant_id} and adapter_slug = ${adapter_slug} and event_id = ${event_id}`;
}

/**
 * Writes the webhook to the ledger; false when it is there. While another transaction that has written it is not over,
 * it waits for its end.
 */
export async function insertWebhook(
  tx: Tx,
  row: LedgerKey & ProjectRef & { name: string; body_hash: Buffer; received_at: Date },
): Promise<boolean> {
  const { count } = await tx`
    insert into adapter_webhooks (adapter_slug, event_id, tenant_id, project_id, name, body_hash, received_at)
    values (${row.adapter_slug}, ${row.event_id}, ${row.tenant_id}, ${row.project_id}, ${row.name}, ${row.body_hash},
      ${row.received_at})
    on conflict (tenant_id, adapter_slug, event_id) do nothing`;
  return count > 0;
}

/** Stores what was answered. */
export async function storeResult(
  tx: Tx,
  { tenant_id, adapter_slug, event_id }: LedgerKey,
  result: object,
): Promise<void> {
  await tx`
    update adapter_webhooks set result = ${JSON.stringify(result)}::text::jsonb
    where tenant_id = ${tenant_id} and adapter_slug = ${adapter_slug} and event_id = ${event_id}`;
}

/** Removes at most `limit` webhooks that were received before `before`; returns how many. */
export async function removeOldWebhooks(sql: Tx, before: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select ctid from adapter_webhooks where received_at < ${before} order by received_at limit ${limit}
      for update skip locked)
    delete from adapter_webhooks w using old where w.ctid = old.ctid`;
  return count;
}
