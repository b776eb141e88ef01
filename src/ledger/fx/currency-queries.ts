import type { Tx } from '../../platform/postgres/port.ts';
import type { CreateCurrencyBody } from './schema.ts';
import type { CurrencyRow } from './queries.ts';

/** The number of currencies of a tenant. */
export async function countCurrencies(tx: Tx, tenant_id: string): Promise<number> {
  const [row] = await tx<{ n: number }[]>`
    select count(*)::integer as n from currencies where tenant_id = ${tenant_id}`;
  return row?.n ?? 0;
}

/** Adds an active currency. False when the tenant has one of this code. */
export async function insertCurrency(
  tx: Tx,
  tenant_id: string,
  { code, kind, scale, symbol, display_name }: CreateCurrencyBody,
): Promise<boolean> {
  const rows = await tx`
    insert into currencies (tenant_id, code, kind, scale, symbol, display_name)
    values (${tenant_id}, ${code}, ${kind}, ${scale}, ${symbol}, ${display_name})
    on conflict do nothing returning code`;
  return rows.length > 0;
}

/** The currency; its row is locked against other changes until the transaction ends, and not against the fold. */
export async function lockCurrency(
  tx: Tx,
  tenant_id: string,
  code: string,
): Promise<CurrencyRow | undefined> {
  const [row] = await tx<CurrencyRow[]>`
    select c.code, c.kind, c.scale, c.symbol, c.display_name, c.is_active, c.code = t.base_currency as is_base
    from currencies c join tenants t using (tenant_id)
    where c.tenant_id = ${tenant_id} and c.code = ${code}
    for no key update of c`;
  return row;
}

/**
 * Locks the row of a currency against the fold, too: waits for the transactions that have converted amounts by its scale
 * and are not committed. Others wait until this transaction ends.
 */
export async function lockScale(tx: Tx, tenant_id: string, code: string): Promise<void> {
  await tx`select from currencies where tenant_id = ${tenant_id} and code = ${code} for update`;
}

/**
 * Whether the ledger has an amount above 0 of the tenant in the currency, another one than the base currency. Such a row
 * has a rate or waits for one, so it is in the index `ledger_by_rate`, of which this reads one entry per project.
 */
export async function hasAmounts(tx: Tx, tenant_id: string, code: string): Promise<boolean> {
  const rows = await tx`
    select from projects p
    cross join lateral (
      select l.ordinal from ledger l
      where l.project_no = p.project_no and l.currency = ${code}
        and (l.rate is not null or (l.amount is not null and l.base_amount is null)
          or (l.payout is not null and l.base_payout is null))
      order by l.occurred_at, l.reference, l.ordinal limit 1 offset 0) l
    where p.tenant_id = ${tenant_id} limit 1`;
  return rows.length > 0;
}

/** Whether a rate from the currency to another one is stored. */
export async function hasRatesFrom(tx: Tx, tenant_id: string, code: string): Promise<boolean> {
  const rows = await tx`select from fx_rates where tenant_id = ${tenant_id} and base = ${code} limit 1`;
  return rows.length > 0;
}

/** Stores all fields of a currency. */
export async function updateCurrency(
  tx: Tx,
  tenant_id: string,
  { code, kind, scale, symbol, display_name, is_active }: CurrencyRow,
): Promise<void> {
  await tx`
    update currencies set kind = ${kind}, scale = ${scale}, symbol = ${symbol}, display_name = ${display_name},
      is_active = ${is_active}
    where tenant_id = ${tenant_id} and code = ${code}`;
}
