import type { Jurisdiction } from '../licence/rule.ts';
import { LICENCE_RULES } from '../licence/rules.ts';

/** The kinds of games that operators offer, with the labels of admin forms. */
const VERTICALS = {
  casino: 'Casino',
  live_casino: 'Live casino',
  slots: 'Slots',
  sportsbook: 'Sports betting',
  horse_racing: 'Horse racing',
  esports: 'Esports betting',
  virtuals: 'Virtual sports',
  poker: 'Poker',
  bingo: 'Bingo',
  lottery: 'Lottery',
  scratchcards: 'Scratch cards',
  crash: 'Crash games',
  fantasy: 'Fantasy sports',
} as const;
export type Vertical = keyof typeof VERTICALS;

/** Which system keeps the KYC status of players; with `crm_owns` and `none` a platform's KYC webhooks are refused. */
const KYC_MODELS = {
  platform_owns: 'The casino platform verifies players and reports here',
  crm_owns: 'Players are verified here; the platform does not report',
  dual: 'Both: the platform reports, and staff decide here',
  none: 'No KYC status is kept',
} as const;
export type KycModel = keyof typeof KYC_MODELS;

/** Tools for players, then the registers of excluded players to which an operator is connected. */
const RG_FEATURES = [
  'deposit_limits',
  'loss_limits',
  'wager_limits',
  'balance_limits',
  'session_limits',
  'reality_checks',
  'cool_off',
  'self_exclusion',
  'gamstop',
  'spelpaus',
  'rofus',
  'oasis',
  'lugas',
  'cruks',
  'rgiaj',
  'rua',
  'hampi',
  'epis',
  'national_self_exclusion_list',
  'state_self_exclusion_list',
] as const;
export type RgFeature = (typeof RG_FEATURES)[number];

/** Proposals for admin forms when a licence is chosen; the service does not enforce them. */
interface LicenseDefaults {
  suggested_verticals: readonly Vertical[];
  rg_features: readonly RgFeature[];
  /** `platform_owns` when a player must be verified before play, `dual` when the verification may follow later. */
  kyc_model: KycModel;
  /** One sentence on the rules that matter most for CRM. */
  hint: string;
}

interface LicenseDeclaration extends LicenseDefaults {
  label: string;
}

const LICENSES = {
  ukgc: {
    label: 'Great Britain (UK Gambling Commission)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'virtuals', 'poker', 'bingo'],
    rg_features: [
      'deposit_limits',
      'loss_limits',
      'session_limits',
      'reality_checks',
      'cool_off',
      'self_exclusion',
      'gamstop',
    ],
    kyc_model: 'platform_owns',
    hint: 'Age and identity are verified before play, GAMSTOP is checked, and direct marketing needs the player’s consent per product and channel.',
  },
  mga: {
    label: 'Malta (Malta Gaming Authority)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'virtuals', 'poker', 'bingo'],
    rg_features: [
      'deposit_limits',
      'loss_limits',
      'wager_limits',
      'session_limits',
      'reality_checks',
      'self_exclusion',
    ],
    kyc_model: 'dual',
    hint: 'Players can limit deposits, stakes, losses and time, and are verified at the latest when their deposits reach EUR 2,000.',
  },
  spelinspektionen: {
    label: 'Sweden (Spelinspektionen)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'poker', 'bingo'],
    rg_features: ['deposit_limits', 'session_limits', 'cool_off', 'self_exclusion', 'spelpaus'],
    kyc_model: 'platform_owns',
    hint: 'Deposit limits are obligatory, a bonus is allowed only the first time a player plays, and Spelpaus is checked at login and before direct marketing.',
  },
  spillemyndigheden: {
    label: 'Denmark (Spillemyndigheden)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'horse_racing', 'poker', 'bingo'],
    rg_features: ['deposit_limits', 'cool_off', 'self_exclusion', 'rofus'],
    kyc_model: 'platform_owns',
    hint: 'Players set a deposit limit before they play, ROFUS is checked at login and before marketing, and a bonus is at most DKK 1,000 with wagering of at most ten times.',
  },
  ontario_agco: {
    label: 'Ontario (AGCO / iGaming Ontario)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'esports', 'poker', 'bingo'],
    rg_features: [
      'deposit_limits',
      'loss_limits',
      'session_limits',
      'reality_checks',
      'cool_off',
      'self_exclusion',
    ],
    kyc_model: 'platform_owns',
    hint: 'Bonuses may be advertised only on the operator’s own site and by direct messages to players who actively agreed to receive them.',
  },
  new_jersey_dge: {
    label: 'New Jersey (Division of Gaming Enforcement)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'poker'],
    rg_features: [
      'deposit_limits',
      'loss_limits',
      'session_limits',
      'cool_off',
      'self_exclusion',
      'state_self_exclusion_list',
    ],
    kyc_model: 'platform_owns',
    hint: 'Players are at least 21, can suspend themselves for 72 hours or more, and get no marketing while they are on the state’s self-exclusion list.',
  },
  pennsylvania_pgcb: {
    label: 'Pennsylvania (Gaming Control Board)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'poker', 'fantasy'],
    rg_features: [
      'deposit_limits',
      'loss_limits',
      'wager_limits',
      'session_limits',
      'cool_off',
      'self_exclusion',
      'state_self_exclusion_list',
    ],
    kyc_model: 'platform_owns',
    hint: 'Casino, poker and sports players are at least 21, and those on the Board’s self-exclusion list may neither play nor be sent marketing.',
  },
  michigan_mgcb: {
    label: 'Michigan (Gaming Control Board)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'poker', 'fantasy'],
    rg_features: [
      'deposit_limits',
      'wager_limits',
      'session_limits',
      'cool_off',
      'self_exclusion',
      'state_self_exclusion_list',
    ],
    kyc_model: 'platform_owns',
    hint: 'Casino and sports players are at least 21 and are checked against the state’s Responsible Gaming Database and list of disassociated persons.',
  },
  curacao_cga: {
    label: 'Curaçao (Curaçao Gaming Authority)',
    suggested_verticals: [
      'casino',
      'live_casino',
      'slots',
      'sportsbook',
      'esports',
      'virtuals',
      'poker',
      'crash',
    ],
    rg_features: ['deposit_limits', 'cool_off', 'self_exclusion'],
    kyc_model: 'dual',
    hint: 'Since December 2024 licences come from the CGA itself, and a responsible-gaming policy with limits, cool-off and self-exclusion is part of them.',
  },
  gibraltar: {
    label: 'Gibraltar (Gambling Commissioner)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'virtuals', 'poker', 'bingo'],
    rg_features: ['deposit_limits', 'session_limits', 'reality_checks', 'cool_off', 'self_exclusion'],
    kyc_model: 'dual',
    hint: 'For players in Great Britain the rules of the UK Gambling Commission hold as well, GAMSTOP among them.',
  },
  isle_of_man: {
    label: 'Isle of Man (Gambling Supervision Commission)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'poker', 'lottery'],
    rg_features: ['deposit_limits', 'wager_limits', 'self_exclusion'],
    kyc_model: 'dual',
    hint: 'Players can limit themselves and self-exclude, players’ money is protected, and identity is verified before larger payouts.',
  },
  alderney: {
    label: 'Alderney (Gambling Control Commission)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'poker', 'bingo'],
    rg_features: ['deposit_limits', 'loss_limits', 'reality_checks', 'self_exclusion'],
    kyc_model: 'dual',
    hint: 'Limits and self-exclusion are offered to every player; in markets with a licence of their own their rules come on top.',
  },
  estonia_emta: {
    label: 'Estonia (Tax and Customs Board)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'poker'],
    rg_features: ['deposit_limits', 'session_limits', 'self_exclusion', 'hampi'],
    kyc_model: 'platform_owns',
    hint: 'Players identify themselves electronically before play, and those listed in HAMPI are kept out.',
  },
  dgoj: {
    label: 'Spain (DGOJ)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'horse_racing', 'poker', 'bingo'],
    rg_features: [
      'deposit_limits',
      'loss_limits',
      'session_limits',
      'reality_checks',
      'cool_off',
      'self_exclusion',
      'rgiaj',
    ],
    kyc_model: 'platform_owns',
    hint: 'Deposits are limited to EUR 600 a day, 1,500 a week and 3,000 a month unless the player has them changed, and RGIAJ is checked before play and before marketing.',
  },
  adm: {
    label: 'Italy (ADM)',
    suggested_verticals: [
      'casino',
      'live_casino',
      'slots',
      'sportsbook',
      'horse_racing',
      'virtuals',
      'poker',
      'bingo',
    ],
    rg_features: ['deposit_limits', 'session_limits', 'self_exclusion', 'rua'],
    kyc_model: 'platform_owns',
    hint: 'The Decreto Dignità bans the advertising of gambling, so messages keep to information on the service; players in RUA are kept out.',
  },
  ksa: {
    label: 'Netherlands (Kansspelautoriteit)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'horse_racing', 'poker', 'bingo'],
    rg_features: [
      'deposit_limits',
      'balance_limits',
      'session_limits',
      'reality_checks',
      'cool_off',
      'self_exclusion',
      'cruks',
    ],
    kyc_model: 'platform_owns',
    hint: 'Cruks is checked at every login, players set limits before they play, and nobody under 24 gets bonuses or advertising.',
  },
  ggl: {
    label: 'Germany (Gemeinsame Glücksspielbehörde der Länder)',
    suggested_verticals: ['slots', 'sportsbook', 'horse_racing', 'poker'],
    rg_features: ['deposit_limits', 'reality_checks', 'cool_off', 'self_exclusion', 'oasis', 'lugas'],
    kyc_model: 'platform_owns',
    hint: 'A limit of EUR 1,000 a month holds over all operators unless it was raised, and OASIS is checked before play and before personal advertising.',
  },
  srij: {
    label: 'Portugal (SRIJ)',
    suggested_verticals: ['casino', 'slots', 'sportsbook', 'horse_racing', 'poker', 'bingo'],
    rg_features: ['deposit_limits', 'wager_limits', 'self_exclusion', 'national_self_exclusion_list'],
    kyc_model: 'platform_owns',
    hint: 'Players can limit deposits and stakes, and those on SRIJ’s list of excluded persons are kept out.',
  },
  hgc: {
    label: 'Greece (Hellenic Gaming Commission)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'virtuals', 'poker'],
    rg_features: ['deposit_limits', 'loss_limits', 'session_limits', 'cool_off', 'self_exclusion'],
    kyc_model: 'dual',
    hint: 'Players set limits of deposits, losses and time, and an account stays temporary until the identity is verified.',
  },
  onjn: {
    label: 'Romania (ONJN)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'virtuals', 'poker', 'bingo'],
    rg_features: ['deposit_limits', 'session_limits', 'self_exclusion', 'national_self_exclusion_list'],
    kyc_model: 'dual',
    hint: 'Players set limits of deposits, and those on ONJN’s list of self-excluded persons are kept out of play and mailings.',
  },
  coljuegos: {
    label: 'Colombia (Coljuegos)',
    suggested_verticals: [
      'casino',
      'live_casino',
      'slots',
      'sportsbook',
      'esports',
      'virtuals',
      'poker',
      'bingo',
    ],
    rg_features: ['deposit_limits', 'wager_limits', 'session_limits', 'self_exclusion'],
    kyc_model: 'platform_owns',
    hint: 'Players are verified by their national identity document, and set limits of deposits, stakes and time.',
  },
  brazil_spa: {
    label: 'Brazil (SPA/MF)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'virtuals', 'crash'],
    rg_features: [
      'deposit_limits',
      'loss_limits',
      'session_limits',
      'reality_checks',
      'cool_off',
      'self_exclusion',
    ],
    kyc_model: 'platform_owns',
    hint: 'Identity is verified with CPF and facial recognition at registration, and welcome bonuses or other advances to bettors are forbidden.',
  },
  kahnawake: {
    label: 'Kahnawà:ke (Gaming Commission)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'poker'],
    rg_features: ['deposit_limits', 'cool_off', 'self_exclusion'],
    kyc_model: 'dual',
    hint: 'Limits and self-exclusion are offered to every player; Ontario and other markets with a licence of their own are not covered.',
  },
  anjouan: {
    label: 'Anjouan (Anjouan Gaming, Comoros)',
    suggested_verticals: [
      'casino',
      'live_casino',
      'slots',
      'sportsbook',
      'esports',
      'virtuals',
      'poker',
      'crash',
    ],
    rg_features: ['deposit_limits', 'self_exclusion'],
    kyc_model: 'dual',
    hint: 'Regulated markets do not accept this licence: keep their players, and those of the licence’s own restricted countries, out of play and mailings.',
  },
  belgium_bgc: {
    label: 'Belgium (Gaming Commission)',
    suggested_verticals: ['casino', 'live_casino', 'slots', 'sportsbook', 'horse_racing', 'poker'],
    rg_features: ['deposit_limits', 'self_exclusion', 'epis'],
    kyc_model: 'platform_owns',
    hint: 'Players are at least 21 and checked against EPIS, deposits are limited to EUR 200 a week and site, and bonuses and most advertising are banned.',
  },
  france_anj: {
    label: 'France (Autorité nationale des jeux)',
    suggested_verticals: ['sportsbook', 'horse_racing', 'poker'],
    rg_features: ['deposit_limits', 'wager_limits', 'self_exclusion', 'national_self_exclusion_list'],
    kyc_model: 'dual',
    hint: 'Online casino is not allowed, players set limits of deposits and stakes, and ANJ’s file of excluded players is consulted before play and mailings.',
  },
} as const satisfies Record<string, LicenseDeclaration>;
export type License = keyof typeof LICENSES;

/** Whose rules on bonuses hold for a licence; of the others no rules are known. */
export const JURISDICTION_OF_LICENSE: Readonly<Partial<Record<License, Exclude<Jurisdiction, 'all'>>>> = {
  ukgc: 'ukgc',
  spillemyndigheden: 'denmark',
  spelinspektionen: 'sweden',
  ksa: 'netherlands',
  dgoj: 'spain',
  ontario_agco: 'ontario',
  mga: 'malta',
  ggl: 'germany',
};

/** The values that a tenant's configuration may have; {@link CATALOGUE} lists them too. */
export const LICENSE_VALUES = Object.keys(LICENSES) as License[];
export const VERTICAL_VALUES = Object.keys(VERTICALS) as Vertical[];
export const KYC_MODEL_VALUES = Object.keys(KYC_MODELS) as KycModel[];
export const RG_FEATURE_VALUES: readonly RgFeature[] = RG_FEATURES;

/** The catalogue in the API's answers (spec part 4, "Tenant config"). */
export const CATALOGUE = {
  licenses: LICENSE_VALUES.map((value) => ({ value, label: LICENSES[value].label })),
  verticals: VERTICAL_VALUES.map((value) => ({ value, label: VERTICALS[value] })),
  kyc_models: KYC_MODEL_VALUES.map((value) => ({ value, label: KYC_MODELS[value] })),
  rg_features: RG_FEATURE_VALUES,
  license_defaults: Object.fromEntries(
    LICENSE_VALUES.map((value): [License, LicenseDefaults] => {
      const { label: _label, ...defaults } = LICENSES[value];
      return [value, defaults];
    }),
  ) as Record<License, LicenseDefaults>,
  license_rules: LICENCE_RULES.map((rule) => ({ ...rule, licenses: licensesOf(rule.jurisdiction) })),
};

/** The licences for which the rules of a jurisdiction hold. */
function licensesOf(jurisdiction: Jurisdiction): License[] {
  return LICENSE_VALUES.filter(
    (value) => jurisdiction === 'all' || JURISDICTION_OF_LICENSE[value] === jurisdiction,
  );
}
