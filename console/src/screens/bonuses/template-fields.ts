import type { FieldKind, FieldSpec, ScaleOf, Texts } from '../../format/record-texts.ts';
import type { Currency } from '../../format/money.ts';
import type { BonusType } from './queries.ts';

const specs = (kind: FieldKind, ...paths: string[]): FieldSpec[] => paths.map((path) => ({ path, kind }));

const MATCH = [
  ...specs('decimal', 'config.match_percent'),
  ...specs('money', 'config.cap_amount', 'config.min_deposit'),
];

/** The fields of the config by type, in the order of the form; each type has a currency, too. */
export const CONFIG_FIELDS: Readonly<Record<BonusType, readonly FieldSpec[]>> = {
  deposit_match: MATCH,
  reload: MATCH,
  free_spins: [
    ...specs('int', 'config.count'),
    ...specs('money', 'config.value_per_spin'),
    ...specs('list', 'config.eligible_games'),
  ],
  no_deposit: specs('money', 'config.amount'),
  cashback: [
    ...specs('decimal', 'config.percent'),
    ...specs('money', 'config.cap_amount'),
    ...specs('text', 'config.basis'),
    ...specs('int', 'config.window_days'),
    ...specs('money', 'config.min_loss'),
  ],
  free_bet: [
    ...specs('money', 'config.amount'),
    ...specs('text', 'config.min_odds'),
    ...specs('flag', 'config.stake_returned'),
  ],
};

/** The kinds of games that may count differently. */
export const GAME_KEYS = ['default', 'slots', 'table', 'live', 'sport', 'crash', 'dice', 'other'] as const;

/** The bases that the wagering of a type can have. */
export function basesOf(type: string): readonly string[] {
  if (type === 'deposit_match' || type === 'reload') return ['bonus', 'bonus_plus_deposit', 'deposit'];
  return type === 'free_spins' || type === 'free_bet' ? ['bonus', 'winnings'] : ['bonus'];
}

const SHARED = [
  ...specs('text', 'name', 'status', 'product', 'config.currency', 'wagering_basis', 'max_bet_action'),
  ...specs('decimal', 'wagering_requirement_multiplier'),
  ...specs('money', 'max_bet_during_wagering', 'max_win_cap', 'budget_base'),
  ...specs('int', 'time_limit_hours', 'max_grants_per_player', 'grant_window_days', 'min_kyc_level'),
  ...specs('text', 'wallet_model', 'exclusion_group', 'eligible_segment_id'),
  ...GAME_KEYS.map((key): FieldSpec => ({ path: `game_contribution.${key}`, kind: 'int' })),
];

/** All fields of a template of the type. */
export function fieldsOf(type: string): readonly FieldSpec[] {
  return [...SHARED, ...(CONFIG_FIELDS[type as BonusType] ?? [])];
}

/** Amounts are in the currency of the config, but for the budget. */
export function scalesBy(currencies: readonly Currency[], base_currency: string): ScaleOf {
  return ({ path }, texts) => {
    const wanted = path === 'budget_base' ? base_currency : texts['config.currency'];
    return currencies.find(({ code }) => code === wanted)?.scale;
  };
}

/** A new template. */
export function newTexts(currency: string): Texts {
  return {
    name: '',
    type: 'deposit_match',
    status: 'active',
    product: 'casino',
    'config.currency': currency,
    'config.match_percent': '100',
    'config.basis': 'net_loss',
    'config.stake_returned': 'false',
    wagering_requirement_multiplier: '0',
    wagering_basis: 'bonus',
    max_bet_action: 'flag',
    wallet_model: 'sticky',
  };
}
