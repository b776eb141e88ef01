import type { Tx } from '../platform/postgres/port.ts';

/** The currencies of a tenant. */
export interface TenantMoney {
  base_currency: string;
  /** Codes of the active currencies of the catalogue. */
  currencies: ReadonlySet<string>;
}

/** The currencies of a tenant; undefined when the tenant does not exist. */
export async function findTenantMoney(sql: Tx, tenant_id: string): Promise<TenantMoney | undefined> {
  const [row] = await sql<{ base_currency: string; codes: string[] }[]>`
    select base_currency,
      array(select code from currencies c where c.tenant_id = t.tenant_id and c.is_active) as codes
    from tenants t where t.tenant_id = ${tenant_id}`;
  return row === undefined ? undefined : { base_currency: row.base_currency, currencies: new Set(row.codes) };
}
