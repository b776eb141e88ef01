import type { PendingQuery } from 'postgres';
import { plainArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';
import { WriteConflict } from '../platform/postgres/retry.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

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

/** A webhook with its effect. */
export interface AppliedWebhook {
  event_id: string;
  body_hash: Buffer;
  received_at: Date;
  /** What was answered. */
  result: object;
}

/** Which of these webhooks are in the ledger, with the hashes of their bodies. */
export function selectKnown(
  tx: Tx,
  { tenant_id, adapter_slug }: Omit<LedgerKey, 'event_id'>,
  event_ids: readonly string[],
): PendingQuery<{ event_id: string; body_hash: Buffer }[]> {
  return tx<{ event_id: string; body_hash: Buffer }[]>`
    select w.event_id, w.body_hash from unnest(${plainArray(event_ids)}::text::uuid[]) as r (event_id)
    cross join lateral (
      select * from adapter_webhooks w
      where w.tenant_id = ${tenant_id} and w.adapter_slug = ${adapter_slug} and w.event_id = r.event_id offset 0) w`;
}

/**
 * Writes webhooks of one adapter to the ledger with their results. Rejects with WriteConflict when one of them is there.
 * While another transaction that has written one of them is not over, it waits for its end.
 */
export async function insertApplied(
  tx: Tx,
  { tenant_id, project_id, adapter_slug, name }: Omit<LedgerKey, 'event_id'> & ProjectRef & { name: string },
  webhooks: readonly AppliedWebhook[],
): Promise<void> {
  if (webhooks.length === 0) return;
  // In one order, so that two transactions with the same webhooks do not wait for each other.
  const sorted = webhooks.toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1));
  const { count } = await tx`
    insert into adapter_webhooks (adapter_slug, event_id, tenant_id, project_id, name, body_hash, received_at, result)
    select ${adapter_slug}, r.event_id, ${tenant_id}, ${project_id}, ${name}, r.body_hash, r.received_at, r.result::jsonb
    from ${rowsOf(tx, 'r', sorted, {
      event_id: 'uuid',
      body_hash: 'bytea',
      received_at: 'timestamptz',
      result: ['text', ({ result }) => JSON.stringify(result)],
    })}
    on conflict (tenant_id, adapter_slug, event_id) do nothing`;
  if (count !== webhooks.length) throw new WriteConflict('a webhook was applied meanwhile');
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
