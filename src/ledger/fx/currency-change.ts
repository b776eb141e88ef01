import { ApiError } from '../../errors.ts';
import type { Auditing } from '../../http/audit.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { TENANTS_CHANNEL } from '../../tenants/config/capability-cache.ts';
import {
  countCurrencies,
  hasAmounts,
  hasRatesFrom,
  insertCurrency,
  lockCurrency,
  lockScale,
  updateCurrency,
} from './currency-queries.ts';
import type { CurrencyRow } from './queries.ts';
import type { CreateCurrencyBody, PatchCurrencyBody } from './schema.ts';

/** Currencies of a tenant: the whole catalogue is in one answer, and in one request to a provider. */
export const MAX_CURRENCIES = 250;

interface Deps extends Auditing {
  notifications: Notifications;
}

/**
 * Adds a currency to a tenant's catalogue, active. Rejects with CONFLICT when it has one of this code, or
 * {@link MAX_CURRENCIES}. Intakes learn of it by a notification, else within 30 s.
 */
export async function createCurrency(
  { notifications, audit }: Deps,
  tx: Tx,
  tenant_id: string,
  body: CreateCurrencyBody,
): Promise<void> {
  if ((await countCurrencies(tx, tenant_id)) >= MAX_CURRENCIES)
    throw new ApiError('CONFLICT', `a tenant has at most ${MAX_CURRENCIES} currencies`);
  if (!(await insertCurrency(tx, tenant_id, body)))
    throw new ApiError('CONFLICT', `the catalogue has ${body.code} already`);
  await audit(tx, {
    tenant_id,
    project_id: null,
    resource_id: body.code,
    before: null,
    after: { ...body, is_active: true },
  });
  await notifications.notify(tx, TENANTS_CHANNEL, tenant_id);
}

/**
 * Changes a currency. Rejects with CURRENCY_NOT_FOUND. Rejects with CONFLICT for another scale of a currency with amounts
 * in the ledger, for another scale or kind of the base currency, for the base currency as inactive, and for a crypto
 * currency with rates as fiat: those rates would hide all later ones.
 */
export async function changeCurrency(
  { notifications, audit }: Deps,
  tx: Tx,
  tenant_id: string,
  { code, patch }: { code: string; patch: PatchCurrencyBody },
): Promise<void> {
  // Postgres refuses the text of some characters.
  const before = /^[\x20-\x7e]{1,16}$/.test(code) ? await lockCurrency(tx, tenant_id, code) : undefined;
  if (before === undefined) throw new ApiError('CURRENCY_NOT_FOUND', 'the catalogue has no such currency');
  const after: CurrencyRow = {
    ...before,
    kind: patch.kind ?? before.kind,
    scale: patch.scale ?? before.scale,
    symbol: patch.symbol ?? before.symbol,
    display_name: patch.display_name ?? before.display_name,
    is_active: patch.is_active ?? before.is_active,
  };
  if (before.is_base) requireSameBase(before, after);
  if (before.kind === 'crypto' && after.kind === 'fiat' && (await hasRatesFrom(tx, tenant_id, code)))
    throw new ApiError('CONFLICT', `rates from ${code} are stored, as they are kept for crypto currencies`);
  if (after.scale !== before.scale) await requireUnused(tx, tenant_id, code);
  await updateCurrency(tx, tenant_id, after);
  const image = ({ kind, scale, symbol, display_name, is_active }: CurrencyRow) => {
    return { code, kind, scale, symbol, display_name, is_active };
  };
  await audit(tx, {
    tenant_id,
    project_id: null,
    resource_id: code,
    before: image(before),
    after: image(after),
  });
  await notifications.notify(tx, TENANTS_CHANNEL, tenant_id);
}

function requireSameBase(before: CurrencyRow, after: CurrencyRow): void {
  if (!after.is_active) throw new ApiError('CONFLICT', 'the base currency is always active');
  if (after.scale !== before.scale || after.kind !== before.kind)
    throw new ApiError(
      'CONFLICT',
      'scale and kind of the base currency are fixed: totals and rates are in it',
    );
}

/** Looked up twice: a fold that has read the scale may commit its row in between, and a used currency delays no fold. */
async function requireUnused(tx: Tx, tenant_id: string, code: string): Promise<void> {
  const isUsed = () => hasAmounts(tx, tenant_id, code);
  const used = (await isUsed()) || (await lockScale(tx, tenant_id, code).then(isUsed));
  if (used)
    throw new ApiError('CONFLICT', `the scale of ${code} is fixed: the ledger has amounts in this currency`);
}
