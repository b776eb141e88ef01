import { ApiError, validationError } from '../../errors.ts';
import { latestRateWithin } from '../../ledger/fx/latest-rate.ts';
import type { ExactRate } from '../../ledger/money/conversion.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import {
  baseCeil,
  converted,
  grantAmounts,
  inCurrency,
  MAX_BASE_AMOUNT,
  type GrantAmounts,
} from '../templates/amounts.ts';
import type { BonusTerms } from '../templates/terms.ts';
import { notEligible } from './eligibility.ts';
import type { FrozenRate, GrantRow } from './grant-row.ts';
import { selectScales } from './issue-queries.ts';

/** What a grant is worth, in its currency and in the base currency. `terms` are in the currency of the grant. */
export interface Worth {
  terms: BonusTerms;
  amounts: GrantAmounts;
  bonus_amount_base: bigint;
  fx: FrozenRate | null;
  base_fx: GrantRow['base_fx'];
}

/** The rates between the currencies of a template, of a grant and of the tenant; null: they are the same. */
export interface GrantRates {
  currency: string;
  /** From the template's currency to the grant's. */
  fx: (FrozenRate & ExactRate) | null;
  /** From the grant's currency to the base currency, and back. */
  base_fx: (FrozenRate & ExactRate) | null;
  from_base: ExactRate | null;
  /** Decimal places of the smallest unit of the base currency. */
  base_scale: number;
}

/** What a request says about the worth of a grant. */
export interface WorthQuestion {
  deposit_amount: bigint | null;
  amount_override: bigint | null;
  /** What was lost in the window of a cashback, or staked, in the smallest unit of the base currency. */
  loss_base?: bigint;
}

/**
 * The rates for a grant in `currency_override` (null: in the template's currency `own`). Rejects with VALIDATION_ERROR
 * for a currency that the catalogue does not have, and with BONUS_CONFIG_INVALID for such one of the template, and when a
 * rate is not known.
 */
export async function readGrantRates(
  tx: Tx,
  tenant_id: string,
  own: string,
  currency_override: string | null,
  now: Date,
): Promise<GrantRates> {
  const currency = currency_override ?? own;
  const { base_currency, scales } = await selectScales(tx, tenant_id, [own, currency]);
  if (!scales.has(own)) {
    const message = `${own}, the currency of the template, is not a code of the tenant's currency catalogue`;
    throw new ApiError('BONUS_CONFIG_INVALID', message);
  }
  if (!scales.has(currency)) {
    const message = `${currency} is not a code of the tenant's currency catalogue`;
    throw validationError([{ path: 'currency_override', message }]);
  }
  const base_scale = scales.get(base_currency);
  if (base_scale === undefined)
    throw new Error(`the catalogue of tenant ${tenant_id} lacks its base currency`);
  const rate = async (from: string, to: string) => {
    const found = await latestRateWithin(tx, tenant_id, { base: from, quote: to }, now);
    if (found === undefined) {
      const message = `no rate from ${from} to ${to} is known: give the tenant one, or grant in another currency`;
      throw new ApiError('BONUS_CONFIG_INVALID', message);
    }
    const of = (code: string) => scales.get(code) ?? 0;
    const { rate: shown, ts, steps } = found;
    return { rate: shown, ts, steps, from_scale: of(from), to_scale: of(to) };
  };
  const is_base = currency === base_currency;
  return {
    currency,
    fx: currency === own ? null : await rate(own, currency),
    base_fx: is_base ? null : await rate(currency, base_currency),
    from_base: is_base ? null : await rate(base_currency, currency),
    base_scale,
  };
}

/**
 * What a grant of these terms is worth. Throws VALIDATION_ERROR, BONUS_CONFIG_INVALID, BONUS_DEPOSIT_AMOUNT_REQUIRED,
 * or BONUS_PLAYER_NOT_ELIGIBLE for a cashback of nothing.
 */
export function worthOf(
  terms: BonusTerms,
  { currency, fx, base_fx, from_base }: GrantRates,
  { deposit_amount, amount_override, loss_base }: WorthQuestion,
): Worth {
  const amounts = grantAmounts(terms, {
    currency,
    deposit_amount,
    amount_override,
    ...(fx === null ? {} : { rate: fx }),
    ...(loss_base === undefined ? {} : { loss: lossIn(loss_base, from_base) }),
  });
  if (amounts.kind === 'refused') {
    if (amounts.code === 'NOT_ELIGIBLE') throw notEligible('NOT_ELIGIBLE', amounts.message);
    const { code, message, path } = amounts;
    throw path === undefined ? new ApiError(code, message) : validationError([{ path, message }]);
  }
  const shown = fx ?? base_fx;
  const bonus_amount_base = baseCeil(amounts.bonus_amount, base_fx ?? 'same');
  if (bonus_amount_base > MAX_BASE_AMOUNT) {
    const message = 'the bonus is above 2^63 - 1 smallest units of the base currency';
    throw validationError([{ path: 'deposit_amount', message }]);
  }
  return {
    terms: fx === null ? terms : inCurrency(terms, currency, fx),
    amounts,
    bonus_amount_base,
    fx: shown === null ? null : { rate: shown.rate, ts: shown.ts },
    base_fx,
  };
}

/** A loss in the grant's currency, rounded down: nobody gets more back than the terms say. */
function lossIn(loss_base: bigint, rate: ExactRate | null): bigint {
  return rate === null || loss_base <= 0n ? loss_base : converted(loss_base, rate);
}
