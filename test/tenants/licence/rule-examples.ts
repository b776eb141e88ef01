import type {
  CampaignFacts,
  GrantFacts,
  MessageFacts,
  PlayerFacts,
  Question,
  TermsFacts,
} from '../../../src/tenants/licence/facts.ts';

/** The moment of the examples. */
export const NOW = new Date('2026-11-22T12:00:00Z');
const daysAgo = (days: number) => new Date(NOW.getTime() - days * 86_400_000);

const TERMS: TermsFacts = {
  type: 'deposit_match',
  product: 'casino',
  wagering: { multiplier_hundredths: 500, basis: 'bonus' },
  match_percent: 100,
  contributions: [100, 100, 100],
  time_limit_hours: null,
  value_in: { DKK: { amount: 100_000n, scale: 2 }, EUR: { amount: 10_000n, scale: 2 } },
};

/** A player about whom everything is known and nothing speaks against a bonus. */
export function player(change: Partial<PlayerFacts> = {}): PlayerFacts {
  return {
    statuses: [],
    birth_date: '1990-05-05',
    rg_risk: 'none',
    kyc_status: 'approved',
    first_seen_at: daysAgo(400),
    has_pending_withdrawal: false,
    limit_raised_at: 'never',
    bonuses_before: 0,
    consent: {},
    ...change,
  };
}

/** A template. */
export function terms(change: Partial<TermsFacts> = {}): Question {
  return { at: 'template', facts: { ...TERMS, ...change }, now: NOW };
}

/** A grant of 50 for a deposit of 50, to a player of whom everything is known. */
export function grant({
  terms: of = {},
  ...change
}: Partial<Omit<GrantFacts, 'terms'>> & { terms?: Partial<TermsFacts> } = {}): Question {
  const amounts = { bonus_amount: 5_000n, deposit_amount: 5_000n, wagering_required: 25_000n };
  const facts = {
    ...amounts,
    qualifying_product: null,
    is_amount_changed: false,
    player: player(),
    ...change,
    terms: { ...TERMS, ...of },
  };
  return { at: 'grant', facts, now: NOW };
}

/** A message to a player without any consent. */
export function message(change: Partial<MessageFacts> = {}): Question {
  return {
    at: 'message',
    facts: { channel: 'email', product: 'casino', player: player(), ...change },
    now: NOW,
  };
}

function campaign(change: Partial<CampaignFacts>, of: Partial<TermsFacts> = {}): Question {
  const facts = { qualifying_product: null, advertising: 'direct', ...change } as const;
  return { at: 'campaign', facts: { ...facts, terms: { ...TERMS, ...of } }, now: NOW };
}

const multiplier = (times: number, basis: TermsFacts['wagering']['basis'] = 'bonus') => ({
  wagering: { multiplier_hundredths: times * 100, basis },
});
const said = (consent: PlayerFacts['consent']) => ({ player: player({ consent }) });
const who = (change: Partial<PlayerFacts>) => grant({ player: player(change) });
const approval = {
  affordability_at: '2026-01-01',
  harm_check_at: '2026-01-01',
  edd_at: '2026-01-01',
  approved_by: 'pml-1',
};
const tier = (approved: object | null): Question => ({ at: 'tier', facts: { approval: approved }, now: NOW });

/** What each rule accepts and refuses. */
export const RULE_EXAMPLES: Record<string, { accepted: Question[]; refused: Question[] }> = {
  ukgc_max_wagering: {
    accepted: [
      terms(multiplier(10)),
      // 5 times bonus and deposit is 10 times a bonus of 100 %.
      terms(multiplier(5, 'bonus_plus_deposit')),
      terms({ ...multiplier(10, 'winnings'), type: 'free_spins', match_percent: null }),
      grant({ wagering_required: 50_000n }),
    ],
    refused: [
      terms(multiplier(10.01)),
      terms(multiplier(10, 'bonus_plus_deposit')),
      terms({ ...multiplier(5, 'bonus_plus_deposit'), match_percent: 99.99 }),
      terms({ ...multiplier(10.01, 'winnings'), type: 'free_spins', match_percent: null }),
      grant({ wagering_required: 50_001n }),
    ],
  },
  ukgc_single_product: {
    accepted: [
      // "Bet 5, get a free bet of 5": the Commission's own example of what may be offered.
      campaign({ qualifying_product: 'betting' }, { type: 'free_bet', product: 'betting' }),
      terms({ product: 'any' }),
    ],
    refused: [
      // "Bet 5, get 20 spins": its example of what may not.
      campaign({ qualifying_product: 'betting' }, { type: 'free_spins', product: 'casino' }),
      terms({ type: 'free_spins', product: 'betting' }),
      terms({ product: 'any', contributions: [100, 0] }),
    ],
  },
  ukgc_marketing_consent: {
    accepted: [
      message(said({ 'email.casino': true })),
      message({ channel: 'push' }),
      message({ product: 'lottery' }),
    ],
    refused: [
      message(said({ 'email.casino': false })),
      message(said({ email: true })),
      message({ product: 'any', ...said({ 'email.casino': true, 'email.betting': true }) }),
    ],
  },
  ukgc_at_risk: {
    accepted: [who({ rg_risk: 'low' }), message()],
    refused: [who({ rg_risk: 'strong' }), message({ player: player({ rg_risk: 'strong' }) })],
  },
  ukgc_vip_checks: {
    accepted: [tier(approval)],
    refused: [tier(null), tier({ ...approval, edd_at: null })],
  },
  denmark_max_value: {
    accepted: [terms(), terms({ value_in: { DKK: { amount: 1_000n, scale: 0 } } })],
    refused: [terms({ value_in: { DKK: { amount: 100_001n, scale: 2 } } })],
  },
  denmark_max_wagering: {
    accepted: [
      terms(multiplier(10, 'bonus_plus_deposit')),
      terms(multiplier(20)),
      grant({ wagering_required: 100_000n }),
    ],
    refused: [
      terms(multiplier(10.01, 'bonus_plus_deposit')),
      terms({ ...multiplier(10.01), type: 'no_deposit', match_percent: null }),
      grant({ wagering_required: 100_001n }),
    ],
  },
  denmark_contribution_100: {
    accepted: [terms()],
    refused: [terms({ contributions: [100, 50] })],
  },
  denmark_no_wagering_on_winnings: {
    accepted: [terms(), terms(multiplier(0, 'winnings'))],
    refused: [terms(multiplier(1, 'winnings'))],
  },
  denmark_deposit_equals_bonus: {
    accepted: [terms(), terms({ type: 'no_deposit', match_percent: null })],
    refused: [terms({ match_percent: 50 }), terms({ match_percent: 200 })],
  },
  denmark_min_days: {
    accepted: [terms({ time_limit_hours: 1_440 }), terms()],
    refused: [terms({ time_limit_hours: 1_439 })],
  },
  denmark_same_terms: { accepted: [grant()], refused: [grant({ is_amount_changed: true })] },
  sweden_first_bonus_only: { accepted: [grant()], refused: [who({ bonuses_before: 1 })] },
  sweden_min_days: {
    accepted: [terms({ time_limit_hours: 1_440 })],
    refused: [terms({ time_limit_hours: 1_439 })],
  },
  sweden_same_terms: { accepted: [grant()], refused: [grant({ is_amount_changed: true })] },
  netherlands_min_age: {
    accepted: [who({ birth_date: '2002-11-22' })],
    refused: [who({ birth_date: '2002-11-23' })],
  },
  netherlands_no_loss_based: {
    accepted: [terms()],
    refused: [terms({ type: 'cashback', match_percent: null })],
  },
  netherlands_at_risk: { accepted: [grant()], refused: [who({ rg_risk: 'low' })] },
  spain_min_account_age: {
    accepted: [who({ first_seen_at: daysAgo(30) })],
    refused: [who({ first_seen_at: daysAgo(29.9) })],
  },
  spain_verified: { accepted: [grant()], refused: [who({ kyc_status: 'pending' })] },
  spain_no_bonus_when: {
    accepted: [grant(), who({ limit_raised_at: daysAgo(30) })],
    refused: [
      who({ has_pending_withdrawal: true }),
      who({ limit_raised_at: daysAgo(29) }),
      who({ rg_risk: 'low' }),
    ],
  },
  ontario_no_public_advertising: {
    accepted: [campaign({ advertising: 'direct' }), campaign({ advertising: 'own_site' })],
    refused: [campaign({ advertising: 'public' })],
  },
  ontario_marketing_consent: {
    accepted: [message(said({ email: true }))],
    refused: [message(said({ email: false })), message()],
  },
  malta_self_excluded: {
    accepted: [grant(), message()],
    refused: [
      who({ statuses: ['self_excluded'] }),
      message({ player: player({ statuses: ['self_excluded'] }) }),
    ],
  },
  all_protected: {
    accepted: [grant(), message()],
    refused: [
      who({ statuses: ['self_excluded'] }),
      who({ statuses: ['banned'] }),
      message({ player: player({ statuses: ['cooldown'] }) }),
    ],
  },
  all_min_age: {
    accepted: [who({ birth_date: '2008-11-22' }), who({ birth_date: null })],
    refused: [who({ birth_date: '2008-11-23' })],
  },
};
