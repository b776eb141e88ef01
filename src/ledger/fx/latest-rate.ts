import { groupBy } from '../../platform/group-by.ts';
import { ApiError, validationError } from '../../errors.ts';
import { factorOf, type Fraction, type RateStep } from '../money/conversion.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { exactDecimal, roundedDecimal } from './decimal.ts';
import { selectKnownCodes, selectRateLegs, type PairAt, type RateLeg } from './queries.ts';
import type { LatestRateQuery } from './schema.ts';

/** A rate between two currencies (spec part 2). */
export interface LatestRate {
  /** Plain decimal digits, to show it: those of an inverse or a cross are rounded. */
  rate: string;
  /** The exact rate, to calculate with it. */
  steps: readonly RateStep[];
  /** ISO 8601 with offset; for a cross rate the time of its older leg. */
  ts: string;
  source: string;
}

/**
 * The latest rate that is not in the future, of any source: the rate of the pair, else the inverse of the opposite
 * pair's rate, else a cross rate through the tenant's base currency. Rejects with VALIDATION_ERROR for a code that the
 * catalogue does not have, and with FX_RATE_NOT_FOUND.
 */
export async function findLatestRate(
  { postgres, clock }: { postgres: Postgres; clock: Clock },
  tenant_id: string,
  pair: LatestRateQuery,
): Promise<LatestRate> {
  const now = new Date(clock.now_ms());
  const [known, legs] = await Promise.all([
    postgres.readAsTenant(tenant_id, (tx) => selectKnownCodes(tx, tenant_id, pair)),
    postgres.readAsTenant(tenant_id, (tx) =>
      selectRateLegs(tx, [{ ...pair, tenant_id, at_ms: now.getTime() }]),
    ),
  ]);
  requireKnown(pair, new Set(known.map(({ code }) => code)));
  if (pair.base === pair.quote) return identity(now.getTime());
  const rate = rateOf(legs);
  if (rate === undefined) {
    throw new ApiError('FX_RATE_NOT_FOUND', `no rate from ${pair.base} to ${pair.quote} is known`);
  }
  return rate;
}

/** The same within a transaction, of codes that the catalogue has; undefined when no rate is known. */
export async function latestRateWithin(
  tx: Tx,
  tenant_id: string,
  pair: LatestRateQuery,
  now: Date,
): Promise<LatestRate | undefined> {
  const [rate] = await ratesWithin(tx, [{ ...pair, tenant_id, at_ms: now.getTime() }]);
  return rate;
}

/** The same for pairs of several tenants, each at a moment of its own. */
export async function ratesWithin(tx: Tx, pairs: readonly PairAt[]): Promise<(LatestRate | undefined)[]> {
  if (pairs.every(({ base, quote }) => base === quote)) return pairs.map(({ at_ms }) => identity(at_ms));
  const legs = groupBy(await selectRateLegs(tx, pairs), ({ place }) => place);
  return pairs.map(({ base, quote, at_ms }, place) =>
    base === quote ? identity(at_ms) : rateOf(legs.get(place) ?? []),
  );
}

const identity = (now_ms: number): LatestRate => ({
  rate: '1',
  steps: [],
  ts: withOffset(now_ms),
  source: 'identity',
});

function requireKnown(pair: LatestRateQuery, known: ReadonlySet<string>): void {
  const unknown = (['base', 'quote'] as const).filter((name) => !known.has(pair[name]));
  if (unknown.length === 0) return;
  throw validationError(
    unknown.map((path) => ({ path, message: 'must be a code of the currency catalogue' })),
  );
}

/** The rate that results from the legs; the oldest leg must come first. Undefined when a leg is missing. */
function rateOf(legs: readonly RateLeg[]): LatestRate | undefined {
  const pair = legs.find(({ leg }) => leg === 'pair');
  if (pair !== undefined) {
    const { rate, is_inverse, ts_ms, source } = pair;
    const steps = [{ rate, is_inverse }];
    const shown = is_inverse ? roundedDecimal(wholeUnits(steps)) : rate;
    return { rate: shown, steps, ts: withOffset(ts_ms), source };
  }
  const to_base = legs.find(({ leg }) => leg === 'to_base');
  const from_base = legs.find(({ leg }) => leg === 'from_base');
  const older = legs[0];
  if (to_base === undefined || from_base === undefined || older === undefined) return undefined;
  const steps = [to_base, from_base].map(({ rate, is_inverse }) => ({ rate, is_inverse }));
  const cross = wholeUnits(steps);
  // Without a division the product is exact.
  const isProduct = !to_base.is_inverse && !from_base.is_inverse;
  return {
    rate: isProduct ? exactDecimal(cross) : roundedDecimal(cross),
    steps,
    ts: withOffset(older.ts_ms),
    source: to_base.source === from_base.source ? to_base.source : `${to_base.source}+${from_base.source}`,
  };
}

function withOffset(ts_ms: number | bigint): string {
  return new Date(Number(ts_ms)).toISOString().replace('Z', '+00:00');
}

function wholeUnits(steps: readonly RateStep[]): Fraction {
  return factorOf({ steps, from_scale: 0, to_scale: 0 });
}
