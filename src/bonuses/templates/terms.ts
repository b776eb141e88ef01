import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { issuesOf } from '../../http/error-handler.ts';
import { BONUS_TYPES, configJson, hundredths, parseConfig, type BonusConfig } from './config.ts';
import { gameContribution, WAGERING_BASES, type GameContribution, type WageringBasis } from './wagering.ts';

/** Whose money is staked first and whether the bonus itself can be withdrawn; the platform's wallet keeps to it. */
export const WALLET_MODELS = ['sticky', 'non_sticky'] as const;
export type WalletModel = (typeof WALLET_MODELS)[number];

/** What a stake above the limit does: the grant counts it, or the platform is asked to cancel the bonus. */
export const MAX_BET_ACTIONS = ['flag', 'forfeit'] as const;
export type MaxBetAction = (typeof MAX_BET_ACTIONS)[number];

/** What a bonus is played on; `any`: the player chooses freely. */
export const PRODUCTS = ['casino', 'betting', 'bingo', 'lottery', 'any'] as const;
export type Product = (typeof PRODUCTS)[number];

/**
 * The terms of a bonus: what a grant copies from its template and keeps, even if the template changes. Amounts are in
 * the smallest unit of `config.currency`.
 */
export interface BonusTerms {
  terms_version: 1;
  template_id: string;
  /** The template's `version` that had these terms. */
  template_version: number;
  name: string;
  product: Product;
  config: BonusConfig;
  wagering: {
    /** The multiplier in hundredths: 1250 for 12.5 times; 0: nothing to wager. */
    multiplier_hundredths: number;
    basis: WageringBasis;
  };
  game_contribution: GameContribution | null;
  max_bet: bigint | null;
  max_win_cap: bigint | null;
  max_bet_action: MaxBetAction;
  wallet_model: WalletModel;
  /** From the activation on; null: no limit. */
  time_limit_hours: number | null;
}

/**
 * The part of a template's row that its terms follow from: `config` and `game_contribution` as stored, numbers of
 * arbitrary size as decimal digits.
 */
export interface TermsSource {
  template_id: string;
  version: number;
  name: string;
  type: (typeof BONUS_TYPES)[number];
  config: unknown;
  wagering_requirement_multiplier: string;
  wagering_basis: WageringBasis;
  game_contribution: unknown;
  max_bet_during_wagering: string | null;
  max_win_cap: string | null;
  max_bet_action: MaxBetAction;
  time_limit_hours: number | null;
  wallet_model: WalletModel;
  product: Product;
}

const nullableDigits = z
  .string()
  .regex(/^[1-9]\d{0,37}$/)
  .transform((digits) => BigInt(digits))
  .nullable();

/** The stored form, of which the config is checked by its type. */
const storedTerms = z.strictObject({
  terms_version: z.literal(1),
  template_id: z.guid(),
  template_version: z.int().min(1),
  name: z.string(),
  type: z.enum(BONUS_TYPES),
  product: z.enum(PRODUCTS),
  config: z.unknown(),
  wagering: z.strictObject({
    multiplier_hundredths: z.int().min(0).max(20_000),
    basis: z.enum(WAGERING_BASES),
  }),
  game_contribution: gameContribution.nullable(),
  max_bet: nullableDigits,
  max_win_cap: nullableDigits,
  max_bet_action: z.enum(MAX_BET_ACTIONS),
  wallet_model: z.enum(WALLET_MODELS),
  time_limit_hours: z.int().min(1).max(8_784).nullable(),
});

/** The terms of a template as it is now. Throws BONUS_CONFIG_INVALID when its stored config does not fit its type. */
export function termsOf(source: TermsSource): BonusTerms {
  const what = `the config of bonus template ${source.template_id}`;
  const table = gameContribution.nullable().safeParse(source.game_contribution);
  if (!table.success)
    throw unfit(`the game_contribution of bonus template ${source.template_id}`, table.error);
  return {
    terms_version: 1,
    template_id: source.template_id,
    template_version: source.version,
    name: source.name,
    product: source.product,
    config: fittingConfig(what, source.type, source.config),
    wagering: {
      multiplier_hundredths: hundredths(Number(source.wagering_requirement_multiplier)),
      basis: source.wagering_basis,
    },
    game_contribution: table.data,
    max_bet: amountOf(source.max_bet_during_wagering),
    max_win_cap: amountOf(source.max_win_cap),
    max_bet_action: source.max_bet_action,
    wallet_model: source.wallet_model,
    time_limit_hours: source.time_limit_hours,
  };
}

/** The terms as a grant's row keeps them (jsonb): amounts are digit strings, in the config, too. */
export function termsJson({ config, max_bet, max_win_cap, ...terms }: BonusTerms): Record<string, unknown> {
  const digits = (amount: bigint | null) => (amount === null ? null : String(amount));
  const { type, ...fields } = config;
  const frozen = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? String(value) : value,
  ]);
  return {
    ...terms,
    type,
    config: Object.fromEntries(frozen),
    max_bet: digits(max_bet),
    max_win_cap: digits(max_win_cap),
  };
}

/**
 * The terms in a grant's row. Throws BONUS_CONFIG_INVALID, which names what does not fit, for terms that this version of
 * the service cannot read.
 */
export function parseTerms(json: unknown): BonusTerms {
  const parsed = storedTerms.safeParse(json);
  if (!parsed.success) throw unfit('the terms of the grant', parsed.error);
  const { type, config, ...terms } = parsed.data;
  return { ...terms, config: fittingConfig('the config in the terms of the grant', type, config) };
}

/** The config of terms as the platform and the API are shown it. */
export const shownConfig = ({ config }: BonusTerms): Record<string, unknown> => configJson(config);

const amountOf = (digits: string | null) => (digits === null ? null : BigInt(digits));

function fittingConfig(what: string, type: BonusConfig['type'], config: unknown): BonusConfig {
  const parsed = parseConfig(type, config);
  if (!parsed.success) throw unfit(what, parsed.error);
  return parsed.data;
}

function unfit(what: string, error: z.ZodError): ApiError {
  const issues = issuesOf(error);
  const first = issues[0];
  const fault = first === undefined ? '' : `: ${first.path || 'it'} ${first.message}`;
  return new ApiError('BONUS_CONFIG_INVALID', `${what} cannot be used${fault}`, { details: { issues } });
}
