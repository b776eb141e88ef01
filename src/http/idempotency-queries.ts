import type { PendingQuery } from 'postgres';
import { textArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { rowsOf } from '../platform/postgres/rows.ts';

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
 * Takes an advisory lock on each key until the transaction ends; says in the order of the keys which it has got. False at
 * once when another transaction holds it. Two keys share a lock with a probability of 1 in 2^64; one of the two requests
 * then only has to be repeated. A transaction gets a lock that it has: no key may come twice.
 */
export async function tryClaimKeys(tx: Tx, refs: readonly RecordRef[]): Promise<boolean[]> {
  const names = refs.map(({ tenant_id, route, key }) => `idempotency ${tenant_id} ${route} ${key}`);
  const rows = await tx<{ claimed: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(n.name, 0)) as claimed
    from unnest(${textArray(names)}::text::text[]) with ordinality as n (name, place)
    order by n.place`;
  return rows.map(({ claimed }) => claimed);
}

/** The records of the keys that have one, unless they were created at `expired_at` or before. */
export function selectRecords(
  tx: Tx,
  refs: readonly RecordRef[],
  expired_at: Date,
): PendingQuery<(IdempotencyRecord & RecordRef)[]> {
  return tx<(IdempotencyRecord & RecordRef)[]>`
    select r.tenant_id, r.route, r.key, k.request_hash, k.status, k.response, k.settles_at
    from ${rowsOf(tx, 'r', refs, { tenant_id: 'uuid', route: 'text', key: 'uuid' })}
    cross join lateral (
      select k.* from idempotency_keys k
      where k.tenant_id = r.tenant_id and k.route = r.route and k.idempotency_key = r.key
        and k.created_at > ${expired_at} offset 0) k`;
}

/** Writes the records, which may be none; replaces expired ones. */
export async function storeRecords(
  tx: Tx,
  records: readonly (RecordRef & IdempotencyRecord & { created_at: Date })[],
): Promise<void> {
  if (records.length === 0) return;
  const rows = records.map(({ request_hash, ...rest }) => ({
    ...rest,
    request_hash: request_hash.toString('hex'),
  }));
  await tx`
    insert into idempotency_keys (
      tenant_id, route, idempotency_key, request_hash, status, response, settles_at, created_at
    )
    select r.tenant_id, r.route, r.key, decode(r.request_hash, 'hex'), r.status, r.response, r.settles_at, r.created_at
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (tenant_id uuid, route text, key uuid,
      request_hash text, status smallint, response text, settles_at timestamptz, created_at timestamptz)
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

/** Removes the tenant's stored answers that name one of these ids: they may show the record of a person. */
export async function removeAnswersNaming(
  tx: Tx,
  tenant_id: string,
  ids: readonly string[],
): Promise<number> {
  const { count } = await tx`
    delete from idempotency_keys k
    where k.tenant_id = ${tenant_id}
      and exists (select from jsonb_array_elements_text(${JSON.stringify(ids)}::text::jsonb) as i (id)
        where position(i.id in k.response) > 0)`;
  return count;
}
