import { ApiError, validationError } from '../../errors.ts';
import type { Auditing } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { hasRate, insertManualRate, selectPair, type StoredRate } from './queries.ts';
import type { Pair } from './rate-provider.ts';
import type { CreateRateBody } from './schema.ts';

/** Providers publish at full hours: a manual rate of that very time would be replaced by the fetch of the snapshot. */
const HOUR_MS = 3_600_000;

/**
 * Stores a rate of a tenant that holds from `ts` on, else from now on. Events before keep the rates that they were
 * converted with, and those after are restated. Rates are kept in one direction for each currency, which is that of the
 * providers: the conversion prefers a rate of (currency → base) to the inverse of (base → currency), however old it is, so
 * one of the other direction would never be superseded. Rejects with VALIDATION_ERROR for an unknown currency, for the
 * other direction and for a `ts` in the future, and with CONFLICT when the pair has a rate of this time, or when rates
 * of the other direction hide the new one.
 */
export async function createManualRate(
  { clock, audit }: { clock: Clock } & Auditing,
  tx: Tx,
  tenant_id: string,
  body: CreateRateBody,
): Promise<StoredRate> {
  const { base, quote } = body;
  await requireDirection(tx, tenant_id, body);
  const row = await insertManualRate(tx, tenant_id, body, timeOf(body, clock.now_ms()));
  if (row === undefined) {
    const remedy = body.ts === undefined ? ': repeat the request' : '';
    throw new ApiError('CONFLICT', `the pair has a rate of this very time${remedy}`);
  }
  const { ts_ms, ...shown } = row;
  const after = { ...shown, ts: new Date(Number(ts_ms)).toISOString() };
  await audit(tx, { tenant_id, project_id: null, resource_id: `${base}/${quote}`, before: null, after });
  return row;
}

/** A given time is kept as it is. */
function timeOf({ ts }: CreateRateBody, now_ms: number): Date {
  if (ts === undefined) return new Date(now_ms % HOUR_MS === 0 ? now_ms + 1 : now_ms);
  requirePast(Date.parse(ts), now_ms);
  return new Date(ts);
}

/** Throws VALIDATION_ERROR for a time in the future. */
export function requirePast(ts_ms: number, now_ms: number): void {
  if (ts_ms > now_ms) throw validationError([{ path: 'ts', message: 'must not be in the future' }]);
}

/** Rejects unless rates of the pair are kept, in this direction; see {@link createManualRate}. */
export async function requireDirection(tx: Tx, tenant_id: string, { base, quote }: Pair): Promise<void> {
  const known = new Map((await selectPair(tx, tenant_id, { base, quote })).map((one) => [one.code, one]));
  const unknown = (['base', 'quote'] as const).filter((path) => !known.has(path === 'base' ? base : quote));
  if (unknown.length > 0) {
    const message = 'must be a code of the currency catalogue';
    throw validationError(unknown.map((path) => ({ path, message })));
  }
  if (base === quote)
    throw validationError([{ path: 'quote', message: 'must be another currency than base' }]);
  const base_currency = known.get(base)?.base_currency ?? '';
  const other = [base, quote].find((code) => code !== base_currency) ?? '';
  const is_crypto = known.get(other)?.kind === 'crypto';
  const [wanted_base, wanted_quote] = is_crypto ? [other, base_currency] : [base_currency, other];
  if (base !== wanted_base || quote !== wanted_quote) {
    const message = `rates are kept from the base currency to fiat and from crypto to the base currency: ${wanted_base} to ${wanted_quote}`;
    throw validationError([{ path: 'base', message }]);
  }
  if (!is_crypto && (await hasRate(tx, tenant_id, { base: quote, quote: base }))) {
    const message = `rates from ${quote} to ${base} are stored, which count before those from ${base} to ${quote}: delete them first`;
    throw new ApiError('CONFLICT', message);
  }
}
