import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { PublishedRate } from './rate-provider.ts';

/** The currencies for which a tenant needs rates: its base currency and the codes of its active currencies. */
export interface TenantCurrencies {
  tenant_id: string;
  base_currency: string;
  fiat: string[];
  crypto: string[];
}

/** A page of tenants in the order of their ids, after the id `after`; with `only`, just that tenant. */
export async function readTenantCurrencies(
  sql: Tx,
  only: string | undefined,
  after: string | undefined,
  limit: number,
): Promise<TenantCurrencies[]> {
  const active = (kind: 'fiat' | 'crypto') => sql`
    array(select c.code from currencies c where c.tenant_id = t.tenant_id and c.kind = ${kind} and c.is_active
      order by c.code collate "C")`;
  return sql<TenantCurrencies[]>`
    select t.tenant_id, t.base_currency, ${active('fiat')} as fiat, ${active('crypto')} as crypto
    from tenants t
    where true
      ${only === undefined ? sql`` : sql`and t.tenant_id = ${only}`}
      ${after === undefined ? sql`` : sql`and t.tenant_id > ${after}`}
    order by t.tenant_id
    limit ${limit}`;
}

/** Inserts or updates rates of one tenant in one statement. Returns how many. */
export async function upsertRates(
  sql: Tx,
  tenant_id: string,
  rates: readonly PublishedRate[],
): Promise<number> {
  // Every fetch locks the rows in this order, so that two concurrent fetches do not deadlock.
  const sorted = rates.toSorted((a, b) => (a.base + a.quote < b.base + b.quote ? -1 : 1));
  const stored = await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate, source)
    select ${tenant_id}, r.base, r.quote, r.ts, r.rate, r.source
    from ${rowsOf(sql, 'r', sorted, { base: 'text', quote: 'text', ts: 'timestamptz', rate: 'numeric', source: 'text' })}
    on conflict (tenant_id, base, quote, ts) do update set rate = excluded.rate, source = excluded.source`;
  return stored.count;
}
