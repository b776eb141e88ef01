import { factorOf, type ExactRate } from '../../ledger/money/conversion.ts';
import { needsDeposit, hundredths, type BonusConfig } from './config.ts';
import type { BonusTerms } from './terms.ts';

/** The largest amount that a row holds, and the largest one in the base currency. */
export const MAX_AMOUNT = 10n ** 38n - 1n;
export const MAX_BASE_AMOUNT = 2n ** 63n - 1n;

/** What a grant asks for. Amounts are in the smallest unit of the grant's currency. */
export interface GrantQuestion {
  /** Absent: the currency of the terms. */
  currency?: string | null;
  /** From the currency of the terms to that of the grant; not read when they are the same. */
  rate?: ExactRate;
  deposit_amount?: bigint | null;
  /** For cashback: what was lost in the window, or staked when the basis is turnover. A win is negative. */
  loss?: bigint;
  /** Gives less than the terms do. */
  amount_override?: bigint | null;
}

/** What is granted, in the smallest unit of `currency`. */
export interface GrantAmounts {
  kind: 'amounts';
  currency: string;
  bonus_amount: bigint;
  deposit_amount: bigint | null;
  wagering_required: bigint;
  max_bet: bigint | null;
  max_win_cap: bigint | null;
}

/** Why nothing is granted. */
export interface GrantRefusal {
  kind: 'refused';
  code: 'VALIDATION_ERROR' | 'BONUS_CONFIG_INVALID' | 'BONUS_DEPOSIT_AMOUNT_REQUIRED' | 'NOT_ELIGIBLE';
  message: string;
  /** For a VALIDATION_ERROR: the field of the request that is wrong. */
  path?: keyof GrantQuestion;
}

/**
 * What a grant of the terms is worth. Exact: every amount is rounded down once, so that it is never above what the terms
 * say; only a converted limit is at least 1.
 */
export function grantAmounts(terms: BonusTerms, question: GrantQuestion): GrantAmounts | GrantRefusal {
  const currency = question.currency ?? terms.config.currency;
  const isForeign = currency !== terms.config.currency;
  if (isForeign && question.rate === undefined) {
    const message = `no rate from ${terms.config.currency}, the currency of the template, to ${currency} is known: grant in ${terms.config.currency}, or give the tenant a rate`;
    return { kind: 'refused', code: 'BONUS_CONFIG_INVALID', message };
  }
  const local = isForeign && question.rate !== undefined ? inCurrency(terms, currency, question.rate) : terms;
  const computed = bonusOf(local.config, question);
  if (typeof computed !== 'bigint') return computed;
  const bonus_amount = question.amount_override ?? computed;
  if (bonus_amount < 1n || bonus_amount > computed) {
    return invalid(
      `amount_override ${bonus_amount} is not from 1 to ${computed}, the amount by the template's terms`,
      'amount_override',
    );
  }
  const deposit_amount = question.deposit_amount ?? null;
  const wagering_required = wageringRequired(local.wagering, { bonus_amount, deposit_amount });
  if (bonus_amount > MAX_AMOUNT || wagering_required > MAX_AMOUNT) {
    return invalid('the bonus or its wagering requirement is above 10^38 smallest units', 'deposit_amount');
  }
  const { max_bet, max_win_cap } = local;
  return { kind: 'amounts', currency, bonus_amount, deposit_amount, wagering_required, max_bet, max_win_cap };
}

/** The bonus by the terms, above 0. */
function bonusOf(config: BonusConfig, { deposit_amount, loss = 0n }: GrantQuestion): bigint | GrantRefusal {
  if (needsDeposit(config.type) && (deposit_amount ?? null) === null) {
    const message = `deposit_amount is required for a bonus of type ${config.type}`;
    return { kind: 'refused', code: 'BONUS_DEPOSIT_AMOUNT_REQUIRED', message };
  }
  switch (config.type) {
    case 'deposit_match':
    case 'reload':
      return matchOf(config, deposit_amount ?? 0n);
    case 'free_spins':
      return BigInt(config.count) * config.value_per_spin;
    case 'no_deposit':
    case 'free_bet':
      return config.amount;
    case 'cashback':
      return cashbackOf(config, loss);
  }
}

function matchOf(
  config: Extract<BonusConfig, { match_percent: number }>,
  deposit: bigint,
): bigint | GrantRefusal {
  const { min_deposit, currency } = config;
  if (min_deposit !== null && deposit < min_deposit) {
    return invalid(
      `deposit_amount ${deposit} is below ${min_deposit}, the least deposit of the bonus in ${currency}`,
      'deposit_amount',
    );
  }
  const bonus = capped(percentOf(deposit, config.match_percent), config.cap_amount);
  if (bonus > 0n) return bonus;
  return invalid(`deposit_amount ${deposit} is too small: the bonus would be nothing`, 'deposit_amount');
}

function cashbackOf(config: Extract<BonusConfig, { type: 'cashback' }>, loss: bigint): bigint | GrantRefusal {
  const what = config.basis === 'turnover' ? 'turnover' : 'net loss';
  const refused = (message: string) => ({ kind: 'refused', code: 'NOT_ELIGIBLE', message }) as const;
  if (loss < config.min_loss) {
    return refused(`the ${what} ${loss} of ${config.window_days} days is below ${config.min_loss}`);
  }
  const bonus = loss > 0n ? capped(percentOf(loss, config.percent), config.cap_amount) : 0n;
  return bonus > 0n
    ? bonus
    : refused(`the cashback of the ${what} ${loss} of ${config.window_days} days is nothing`);
}

/** The amounts that a multiplier applies to. `winnings` is null until the platform reports them. */
interface WageringAmounts {
  bonus_amount: bigint;
  deposit_amount: bigint | null;
  winnings?: bigint | null;
}

/** What has to be wagered, rounded down: the multiplier times its basis. 0 for winnings that are not known yet. */
export function wageringRequired(
  { multiplier_hundredths, basis }: BonusTerms['wagering'],
  { bonus_amount, deposit_amount, winnings }: WageringAmounts,
): bigint {
  const deposit = deposit_amount ?? 0n;
  const sum = {
    bonus: bonus_amount,
    bonus_plus_deposit: bonus_amount + deposit,
    deposit,
    winnings: winnings ?? 0n,
  }[basis];
  return (sum * BigInt(multiplier_hundredths)) / 100n;
}

/**
 * The terms in another currency. Every amount is rounded down, but is at least 1, unless it is 0; the value of each spin
 * is converted, not that of all.
 */
export function inCurrency(terms: BonusTerms, currency: string, rate: ExactRate): BonusTerms {
  const convert = (amount: bigint) => {
    const floor = converted(amount, rate);
    return amount > 0n && floor === 0n ? 1n : floor;
  };
  const orNull = (amount: bigint | null) => (amount === null ? null : convert(amount));
  // All bigints of a config are amounts in its currency.
  const config = Object.fromEntries(
    Object.entries(terms.config).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? convert(value) : value,
    ]),
  );
  return {
    ...terms,
    config: { ...config, currency } as BonusConfig,
    max_bet: orNull(terms.max_bet),
    max_win_cap: orNull(terms.max_win_cap),
  };
}

/**
 * An amount in the tenant's base currency, rounded up: what a budget reserves is never less than the grant is worth. The
 * rate is from the amount's currency to the base currency; `same`: it is the base currency.
 */
export function baseCeil(amount: bigint, rate: ExactRate | 'same'): bigint {
  if (rate === 'same') return amount;
  const { numerator, denominator } = factorOf(rate);
  return (amount * numerator + denominator - 1n) / denominator;
}

/** An amount that is not negative, in the smallest unit of another currency, rounded down. */
export function converted(amount: bigint, rate: ExactRate): bigint {
  const { numerator, denominator } = factorOf(rate);
  return (amount * numerator) / denominator;
}

function percentOf(amount: bigint, percent: number): bigint {
  return (amount * BigInt(hundredths(percent))) / 10_000n;
}

function capped(amount: bigint, cap: bigint): bigint {
  return amount < cap ? amount : cap;
}

function invalid(message: string, path: keyof GrantQuestion): GrantRefusal {
  return { kind: 'refused', code: 'VALIDATION_ERROR', message, path };
}
