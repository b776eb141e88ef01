import { selectCurrencies, type CurrencyRow } from '../../ledger/fx/queries.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { mentionsMoney, NO_MONEY, type MoneyCatalogue } from './money.ts';
import { textsOf, type TemplateSource } from './render.ts';

/** The currencies of a tenant. */
export async function readMoney(sql: Tx, tenant_id: string): Promise<MoneyCatalogue> {
  return catalogueOf(await selectCurrencies(sql, tenant_id));
}

function catalogueOf(rows: readonly CurrencyRow[]): MoneyCatalogue {
  return {
    base_currency: rows.find(({ is_base }) => is_base)?.code ?? '',
    currencies: new Map(rows.map(({ code, kind, scale }) => [code, { kind, scale }])),
  };
}

/** The currencies that a template of the tenant needs: none when it does not use the filter `money`. */
export async function moneyFor(
  postgres: Postgres,
  tenant_id: string,
  template: TemplateSource,
): Promise<MoneyCatalogue> {
  if (!mentionsMoney(textsOf(template))) return NO_MONEY;
  return catalogueOf(await postgres.readAsTenant(tenant_id, (tx) => selectCurrencies(tx, tenant_id)));
}
