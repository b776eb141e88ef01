import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';

/** The types of bonuses (spec part 2, bonus template). */
export const BONUS_TYPES = [
  'deposit_match',
  'reload',
  'free_spins',
  'no_deposit',
  'cashback',
  'free_bet',
] as const;
export type BonusType = (typeof BONUS_TYPES)[number];

/** The digits of the largest amount that a template may have: a billion whole units of a currency with 18 decimals. */
const MAX_DIGITS = 28;
const MAX_GAMES = 200;

/** The schema of an amount in the smallest unit of a currency; parsed, it is a bigint. */
function amountFrom(min: 0 | 1) {
  const digits = `[1-9]\\d{0,${MAX_DIGITS - 1}}`;
  const pattern = new RegExp(min === 0 ? `^(?:0|${digits})$` : `^${digits}$`);
  const error = `must be an integer from ${min} to 2^53 - 1 in the smallest unit, or a larger one as a string of at most ${MAX_DIGITS} digits`;
  return z
    .union([z.int().min(min), z.string().regex(pattern, error)], { error })
    .transform((value) => BigInt(value))
    .meta({ format: 'bigint' });
}

/** An amount above 0. */
export const positiveAmount = amountFrom(1);
/** An amount from 0 on. */
export const amountOrZero = amountFrom(0);

/** An amount in an answer, in the smallest unit of a currency: `amountJson` writes it. */
export const shownAmount = z
  .union([z.int().min(0), z.string().regex(/^\d+$/)])
  .meta({ format: 'bigint', description: 'In the smallest unit; above 2^53 - 1 a string of digits' });
nameSchemas({ PositiveAmount: positiveAmount, AmountOrZero: amountOrZero, Amount: shownAmount });

/** A number with at most two decimals, above 0 (or from 0) up to `max`. */
export function twoDecimals(max: number, from: 'above_zero' | 'zero') {
  const number = from === 'zero' ? z.number().min(0) : z.number().gt(0);
  return number
    .max(max)
    .refine((value) => Number(value.toFixed(2)) === value, 'must have at most 2 decimals');
}

const currency = z.string().min(1).max(16).describe('A code of the currency catalogue');
const matching = z.strictObject({
  match_percent: twoDecimals(1_000, 'above_zero').describe('Of the deposit'),
  cap_amount: positiveAmount.describe('The bonus is at most this'),
  currency,
  min_deposit: amountOrZero.nullable().default(null).describe('A smaller deposit gets nothing'),
});

/** The `config` of each type (spec part 2). Parsed, amounts are bigints in the smallest unit of `currency`. */
export const CONFIG_SCHEMAS = {
  deposit_match: matching,
  reload: matching,
  free_spins: z.strictObject({
    count: z.int().min(1).max(1_000),
    value_per_spin: positiveAmount,
    currency,
    eligible_games: z
      .array(z.string().trim().min(1).max(200))
      .min(1)
      .max(MAX_GAMES)
      .refine((games) => new Set(games).size === games.length, 'must not name a game twice')
      .meta({ uniqueItems: true }),
  }),
  no_deposit: z.strictObject({ amount: positiveAmount, currency }),
  cashback: z.strictObject({
    percent: twoDecimals(100, 'above_zero').describe('Of the loss or the turnover'),
    window_days: z.int().min(1).max(90).describe('Over so many days before the grant'),
    min_loss: amountOrZero.describe('Less gets nothing'),
    currency,
    cap_amount: positiveAmount.describe('The bonus is at most this'),
    basis: z
      .enum(['net_loss', 'turnover'])
      .default('net_loss')
      .describe('Stakes less payouts, or stakes alone'),
  }),
  free_bet: z.strictObject({
    amount: positiveAmount,
    currency,
    min_odds: z
      .string()
      .regex(/^(?:[1-9]\d{0,4})(?:\.\d{1,4})?$/, 'must be decimal odds from 1, such as "1.5"')
      .nullable()
      .default(null),
    stake_returned: z.boolean().default(false).describe('Whether winnings include the stake'),
  }),
} as const satisfies Record<BonusType, z.ZodType>;

/** A parsed config with its type. Amounts are in the smallest unit of `currency`. */
export type BonusConfig = {
  [T in BonusType]: { type: T } & z.output<(typeof CONFIG_SCHEMAS)[T]>;
}[BonusType];

/** Parses the config of a type: what the API received, what a template's row has, or what a grant froze. */
export function parseConfig(type: BonusType, config: unknown): z.ZodSafeParseResult<BonusConfig> {
  const parsed: z.ZodSafeParseResult<object> = CONFIG_SCHEMAS[type].safeParse(config);
  if (!parsed.success) return parsed as z.ZodSafeParseError<BonusConfig>;
  // The schema of the type has just parsed it.
  return { success: true, data: { type, ...parsed.data } as BonusConfig };
}

/** An amount as the API shows it: not every client reads a number above 2^53 - 1 exactly, so such a one is a string. */
export function wireAmount(amount: bigint): number | string {
  return amount <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(amount) : String(amount);
}

/**
 * A config as the API shows it and a row has it: without the type and fields that have no value, amounts by
 * {@link wireAmount}.
 */
export function configJson({ type: _type, ...config }: BonusConfig): Record<string, unknown> {
  const given = Object.entries(config).filter(([, value]) => value !== null);
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'bigint' ? wireAmount(value) : value]),
  );
}

/** The most that a grant of the config can be worth, in the smallest unit of its currency. */
export function largestBonus(config: BonusConfig): bigint {
  switch (config.type) {
    case 'deposit_match':
    case 'reload':
    case 'cashback':
      return config.cap_amount;
    case 'free_spins':
      return BigInt(config.count) * config.value_per_spin;
    case 'no_deposit':
    case 'free_bet':
      return config.amount;
  }
}

/** The types whose amount follows from a deposit. */
export function needsDeposit(type: BonusType): type is 'deposit_match' | 'reload' {
  return type === 'deposit_match' || type === 'reload';
}

/** A number with at most two decimals in hundredths, exact: 12.5 % is 1250. */
export function hundredths(value: number): number {
  return Math.round(value * 100);
}
