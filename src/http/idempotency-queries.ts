import type { Tx } from '../platform/postgres/port.ts';

/** The key of an idempotency record: `route` is the method and declared path of an endpoint, `key` is a UUID. */
export interface RecordRef {
  tenant_id: string;
  route: string;
  key: string;
}

/** The hash of the request, and the response, that are stored under a key. */
export interface IdempotencyRecord {
  request_hash: Buffer;
  status: number;
  response: string;
  /** Until then the request is being worked on, and the response is not given yet; null: it is final. */
  settles_at: Date | null;
}

/**
 * Takes an advisory lock on the key until the transaction ends. Returns false at once when another transaction holds
 * it. Two keys share a lock with a probability of 1 in 2^64; one of the two requests then only has to be repeated.
 */
export async function tryClaimKey(tx: Tx, { tenant_id, route, key }: RecordRef): Promise<boolean> {
  const name = `idempotency ${tenant_id} ${route} ${key}`;
  const rows = await tx<{ claimed: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as claimed`;
  return rows[0]?.claimed === true;
}

/** The record of the key, unless it was created at `expired_at` or before. */
export async function findRecord(
  tx: Tx,
  { tenant_id, route, key }: RecordRef,
  expired_at: Date,
): Promise<IdempotencyRecord | undefined> {
  const rows = await tx<IdempotencyRecord[]>`
    select request_hash, status, response, settles_at
    from idempotency_keys
    where tenant_id = ${tenant_id} and route = ${route} and idempotency_key = ${key}
      and created_at > ${expired_at}`;
  return rows[0];
}

/** Writes the record; replaces an expired one. */
export async function storeRecord(
  tx: Tx,
  { tenant_id, route, key }: RecordRef,
  { request_hash, status, response, settles_at }: IdempotencyRecord,
  created_at: Date,
): Promise<void> {
  await tx`
    insert into idempotency_keys (
      tenant_id, route, idempotency_key, request_hash, status, response, settles_at, created_at
    ) values (
      ${tenant_id}, ${route}, ${key}, ${request_hash}, ${status}, ${response}, ${settles_at}, ${created_at}
    )
    on conflict (tenant_id, route, idempotency_key) do update
    set request_hash = excluded.request_hash, status = excluded.status, response = excluded.response,
      settles_at = excluded.settles_at, created_at = excluded.created_at`;
}

/**
 * Removes up to `limit` records created at `expired_at` or before, of one tenant or of all. It skips rows that other
 * transactions have locked; a later call removes them. Returns how many records were removed.
 */
export async function removeRecords(
  tx: Tx,
  expired_at: Date,
  limit: number,
  tenant_id?: string,
): Promise<number> {
  const whose = tenant_id === undefined ? tx`` : tx`where t.tenant_id = ${tenant_id}`;
  const { count } = await tx`
    delete from idempotency_keys k
    using (
      select old.*
      from tenants t
      cross join lateral (
        select o.tenant_id, o.route, o.idempotency_key
        from idempotency_keys o
        where o.tenant_id = t.tenant_id and o.created_at <= ${expired_at}
        order by o.created_at
        limit ${limit}
        for update skip locked
      ) old
      ${whose}
      limit ${limit}
    ) expired
    where k.tenant_id = expired.tenant_id and k.route = expired.route
      and k.idempotency_key = expired.idempotency_key`;
  return count;
}
