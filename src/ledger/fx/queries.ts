import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { LatestRateQuery } from './schema.ts';

export interface CurrencyRow {
  code: string;
  kind: 'fiat' | 'crypto';
  scale: number;
  symbol: string;
  display_name: string;
  is_active: boolean;
  is_base: boolean;
}

/** The tenant's whole catalogue: the base currency, then the others by code. */
export function selectCurrencies(tx: Tx, tenant_id: string): PendingQuery<CurrencyRow[]> {
  return tx<CurrencyRow[]>`
    select c.code, c.kind, c.scale, c.symbol, c.display_name, c.is_active, c.code = t.base_currency as is_base
    from tenants t join currencies c using (tenant_id)
    where t.tenant_id = ${tenant_id}
    order by is_base desc, c.code collate "C"`;
}

/** A currency with the rate to the base currency that holds at a moment; all null without one. */
export interface RatedCurrencyRow extends CurrencyRow {
  source: string | null;
  rate_ts_ms: bigint | null;
}

/** The tenant's catalogue in the order of {@link selectCurrencies}, or one currency of it, each with its rate at `now_ms`. */
export function selectRatedCurrencies(
  tx: Tx,
  tenant_id: string,
  now_ms: number,
  only?: string,
): PendingQuery<RatedCurrencyRow[]> {
  return tx<RatedCurrencyRow[]>`
    select c.code, c.kind, c.scale, c.symbol, c.display_name, c.is_active, c.code = t.base_currency as is_base,
      r.source, epoch_ms(r.rate_ts) as rate_ts_ms
    from tenants t join currencies c using (tenant_id)
    left join lateral rate_at(t.tenant_id, c.code, t.base_currency,
      'epoch'::timestamptz + ${now_ms}::bigint * interval '1 millisecond') r on true
    where t.tenant_id = ${tenant_id} ${only === undefined ? tx`` : tx`and c.code in (t.base_currency, ${only})`}
    order by is_base desc, c.code collate "C"`;
}

/** The codes of the pair that are in the tenant's catalogue. */
export function selectKnownCodes(
  tx: Tx,
  tenant_id: string,
  { base, quote }: LatestRateQuery,
): PendingQuery<{ code: string }[]> {
  return tx<{ code: string }[]>`
    select code from currencies where tenant_id = ${tenant_id} and code in (${base}, ${quote})`;
}

/** A stored rate between two currencies: of the pair itself, or of one half of a cross through the base currency. */
export interface RateLeg {
  leg: 'pair' | 'to_base' | 'from_base';
  /** Plain decimal digits. */
  rate: string;
  /** Milliseconds since the epoch. A number, because a rate may be older than the times that the driver can read. */
  ts_ms: bigint;
  /** The rate is that of the opposite pair: divide by it. */
  is_inverse: boolean;
  source: string;
}

/** A pair of a tenant at a moment, in milliseconds since the epoch. */
export interface PairAt extends LatestRateQuery {
  tenant_id: string;
  at_ms: number;
}

/** The legs of each pair that have a rate not later than its moment, the oldest rate first; `place` counts the pairs from 0. */
export function selectRateLegs(
  tx: Tx,
  pairs: readonly PairAt[],
): PendingQuery<(RateLeg & { place: number })[]> {
  return tx<(RateLeg & { place: number })[]>`
    select (p.number - 1)::integer as place, l.leg, r.rate::text as rate, epoch_ms(r.rate_ts) as ts_ms,
      r.rate_is_inverse as is_inverse, r.source
    from ${rowsOf(tx, 'p', pairs, { tenant_id: 'uuid', base: 'text', quote: 'text', at_ms: 'bigint', number: 'ordinality' })}
    join tenants t on t.tenant_id = p.tenant_id
    cross join lateral (values
      ('pair', p.base, p.quote), ('to_base', p.base, t.base_currency), ('from_base', t.base_currency, p.quote)
    ) as l (leg, from_code, to_code)
    cross join lateral rate_at(
      t.tenant_id, l.from_code, l.to_code, 'epoch'::timestamptz + p.at_ms * interval '1 millisecond') as r
    order by r.rate_ts`;
}

/** A rate as it is stored. `ts_ms` is in milliseconds since the epoch, which is as exact as rates are. */
export interface StoredRate {
  base: string;
  quote: string;
  rate: string;
  ts_ms: bigint;
  source: string;
}

/** Rates of the pair itself, the latest first; `before_ms`: only earlier ones. */
export function listRates(
  tx: Tx,
  tenant_id: string,
  { base, quote }: LatestRateQuery,
  before_ms: string | undefined,
  limit: number,
): PendingQuery<StoredRate[]> {
  const earlier =
    before_ms === undefined
      ? tx``
      : tx`and ts < 'epoch'::timestamptz + ${before_ms}::bigint * interval '1 millisecond'`;
  return tx<StoredRate[]>`
    select base, quote, rate::text as rate, epoch_ms(ts) as ts_ms, source from fx_rates
    where tenant_id = ${tenant_id} and base = ${base} and quote = ${quote} ${earlier}
    order by ts desc limit ${limit}`;
}

/** What decides in which direction rates of two currencies are kept: their kinds, and the tenant's base currency. */
export async function selectPair(
  tx: Tx,
  tenant_id: string,
  { base, quote }: LatestRateQuery,
): Promise<{ code: string; kind: 'fiat' | 'crypto'; base_currency: string }[]> {
  return tx<{ code: string; kind: 'fiat' | 'crypto'; base_currency: string }[]>`
    select c.code, c.kind, t.base_currency from tenants t join currencies c using (tenant_id)
    where t.tenant_id = ${tenant_id} and c.code in (${base}, ${quote})`;
}

/** A rate with its time in milliseconds since the epoch. */
export interface TimedRate {
  base: string;
  quote: string;
  rate: string;
  ts_ms: number;
}

/**
 * Stores the rates of other pairs and times than are stored. Returns for each whether it `is_new`, and otherwise whether the
 * rate that is stored `is_same`. Of two of one pair and time the first is stored.
 */
export async function insertNewRates(
  tx: Tx,
  tenant_id: string,
  rates: readonly TimedRate[],
): Promise<{ is_new: boolean; is_same: boolean }[]> {
  const given = rowsOf(tx, 'r', rates, {
    base: 'text',
    quote: 'text',
    ts_ms: 'bigint',
    rate: 'numeric',
    number: 'ordinality',
  });
  const ts = tx`'epoch'::timestamptz + r.ts_ms * interval '1 millisecond'`;
  const inserted = await tx<{ base: string; quote: string; ts_ms: bigint }[]>`
    insert into fx_rates (tenant_id, base, quote, ts, rate, source)
    select ${tenant_id}, r.base, r.quote, ${ts}, r.rate, 'manual' from ${given}
    order by r.base, r.quote, r.ts_ms, r.number
    on conflict do nothing
    returning base, quote, epoch_ms(ts) as ts_ms`;
  const compared = await tx<{ is_same: boolean }[]>`
    select f.rate = r.rate as is_same from ${given}
    join fx_rates f on f.tenant_id = ${tenant_id} and f.base = r.base and f.quote = r.quote and f.ts = ${ts}
    order by r.number`;
  const fresh = new Set(inserted.map(({ base, quote, ts_ms }) => `${base}/${quote} ${ts_ms}`));
  return rates.map(({ base, quote, ts_ms }, place) => ({
    // Only the first of two equal keys is new.
    is_new: fresh.delete(`${base}/${quote} ${ts_ms}`),
    is_same: compared[place]?.is_same === true,
  }));
}

/** Whether a rate of the pair is known. */
export async function hasRate(tx: Tx, tenant_id: string, { base, quote }: LatestRateQuery): Promise<boolean> {
  const rows = await tx`
    select from fx_rates where tenant_id = ${tenant_id} and base = ${base} and quote = ${quote} limit 1`;
  return rows.length > 0;
}

/** Stores a manual rate; undefined when the pair has a rate of this very time. */
export async function insertManualRate(
  tx: Tx,
  tenant_id: string,
  { base, quote, rate }: LatestRateQuery & { rate: string },
  ts: Date,
): Promise<StoredRate | undefined> {
  const [row] = await tx<StoredRate[]>`
    insert into fx_rates (tenant_id, base, quote, ts, rate, source)
    values (${tenant_id}, ${base}, ${quote}, ${ts}, ${rate}::text::numeric, 'manual')
    on conflict do nothing
    returning base, quote, rate::text as rate, epoch_ms(ts) as ts_ms, source`;
  return row;
}
