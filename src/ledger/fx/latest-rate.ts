import { ApiError, validationError } from '../../errors.ts';
import { fractionOf, type Fraction } from '../money/conversion.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { exactDecimal, roundedDecimal } from './decimal.ts';
import { selectKnownCodes, selectRateLegs, type RateLeg } from './queries.ts';
import type { LatestRateQuery } from './schema.ts';

/** A rate between two currencies. */
export interface LatestRate {
  /** Plain decimal digits. */
  rate: string;
  /** ISO 8601 with offset; of a cross the older one. */
  ts: string;
  source: string;
}

/**
 * The latest rate by now, whatever its source: of the pair, else of the pair turned round, else a cross through the
 * tenant's base currency. Rejects with VALIDATION_ERROR for a code that the catalogue does not have, and with
 * FX_RATE_NOT_FOUND.
 */
export async function findLatestRate(
  { postgres, clock }: { postgres: Postgres; clock: Clock },
  tenant_id: string,
  pair: LatestRateQuery,
): Promise<LatestRate> {
  const now = new Date(clock.now_ms());
  const [known, legs] = await Promise.all([
    postgres.readAsTenant(tenant_id, (tx) => selectKnownCodes(tx, tenant_id, pair)),
    postgres.readAsTenant(tenant_id, (tx) => selectRateLegs(tx, tenant_id, pair, now)),
  ]);
  requireKnown(pair, new Set(known.map(({ code }) => code)));
  if (pair.base === pair.quote) {
    return { rate: '1', ts: withOffset(now.getTime()), source: 'identity' };
  }
  const rate = rateOf(legs);
  if (rate === undefined) {
    throw new ApiError('FX_RATE_NOT_FOUND', `no rate from ${pair.base} to ${pair.quote} is known`);
  }
  return rate;
}

function requireKnown(pair: LatestRateQuery, known: ReadonlySet<string>): void {
  const unknown = (['base', 'quote'] as const).filter((name) => !known.has(pair[name]));
  if (unknown.length === 0) return;
  throw validationError(
    unknown.map((path) => ({ path, message: 'must be a code of the currency catalogue' })),
  );
}

/** The rate that the legs give, the oldest of which comes first. */
function rateOf(legs: readonly RateLeg[]): LatestRate | undefined {
  const pair = legs.find(({ leg }) => leg === 'pair');
  if (pair !== undefined) {
    const { rate, is_inverse, ts_ms, source } = pair;
    return { rate: is_inverse ? roundedDecimal(fractionOfLeg(pair)) : rate, ts: withOffset(ts_ms), source };
  }
  const to_base = legs.find(({ leg }) => leg === 'to_base');
  const from_base = legs.find(({ leg }) => leg === 'from_base');
  const older = legs[0];
  if (to_base === undefined || from_base === undefined || older === undefined) return undefined;
  const [a, b] = [fractionOfLeg(to_base), fractionOfLeg(from_base)];
  const cross = { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator };
  // Without a division there is nothing to round.
  const isProduct = !to_base.is_inverse && !from_base.is_inverse;
  return {
    rate: isProduct ? exactDecimal(cross) : roundedDecimal(cross),
    ts: withOffset(older.ts_ms),
    source: to_base.source === from_base.source ? to_base.source : `${to_base.source}+${from_base.source}`,
  };
}

function withOffset(ts_ms: number | bigint): string {
  return new Date(Number(ts_ms)).toISOString().replace('Z', '+00:00');
}

function fractionOfLeg({ rate, is_inverse }: RateLeg): Fraction {
  const { numerator, denominator } = fractionOf(rate);
  return is_inverse ? { numerator: denominator, denominator: numerator } : { numerator, denominator };
}
