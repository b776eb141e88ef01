import { and, DAY, HOUR, not, or, trait, type Example } from './example-shapes.ts';

/** Conditions on fields of the player, and combinations of conditions. */
export const TRAIT_EXAMPLES: readonly Example[] = [
  {
    title: 'text: equal',
    definition: and(trait('current_tier_code', 'eq', 'gold')),
    in: { gold: { traits: { current_tier_code: 'gold' } } },
    out: { 'other letters': { traits: { current_tier_code: 'Gold' } }, 'no tier': {} },
  },
  {
    title: 'text: not equal, which holds where there is none',
    definition: and(trait('current_tier_code', 'neq', 'gold')),
    in: { 'no tier': {}, silver: { traits: { current_tier_code: 'silver' } } },
    out: { gold: { traits: { current_tier_code: 'gold' } } },
  },
  {
    title: 'text: one of a list',
    definition: and(trait('default_currency_code', 'in', ['SEK', 'NOK'])),
    in: { Swede: { traits: { default_currency_code: 'SEK' } } },
    out: { Maltese: { traits: { default_currency_code: 'EUR' } } },
  },
  {
    title: 'text: none of a list',
    definition: and(trait('kyc_status', 'nin', ['approved', 'pending'])),
    in: { rejected: { traits: { kyc_status: 'rejected' } } },
    out: { approved: { traits: { kyc_status: 'approved' } } },
  },
  {
    title: 'text: contains, literally',
    definition: and(trait('email', 'contains', '%@example.com')),
    in: { 'a percent sign': { traits: { email: 'me%@example.com.mt' } } },
    out: { 'no percent sign': { traits: { email: 'me@example.com' } }, 'no address': {} },
  },
  {
    title: 'text: begins with',
    definition: and(trait('phone', 'starts_with', '+356')),
    in: { Maltese: { traits: { phone: '+35699000000' } } },
    out: { Swedish: { traits: { phone: '+4670+356' } }, 'no phone': {} },
  },
  {
    title: 'text: there is one',
    definition: and(trait('telegram_id', 'exists')),
    in: { 'an empty one': { traits: { telegram_id: '' } }, some: { traits: { telegram_id: '7' } } },
    out: { none: {} },
  },
  {
    title: 'text: there is none',
    definition: and(trait('email', 'not_exists')),
    in: { none: {} },
    out: { 'an empty one': { traits: { email: '' } } },
  },
  {
    title: 'number: equal',
    definition: and(trait('kyc_level', '=', 2)),
    in: { two: { traits: { kyc_level: 2 } } },
    out: { one: { traits: { kyc_level: 1 } } },
  },
  {
    title: 'number: not equal',
    definition: and(trait('ltv_predicted', '!=', 0.5)),
    in: { 'not predicted': {}, other: { traits: { ltv_predicted: 0.25 } } },
    out: { half: { traits: { ltv_predicted: 0.5 } } },
  },
  {
    title: 'number: more than, in the smallest unit of the base currency',
    definition: and(trait('total_deposited', '>', 50_000)),
    in: { 'a cent more': { traits: { total_deposited: 50_001 } } },
    out: { 'just 500.00': { traits: { total_deposited: 50_000 } } },
  },
  {
    title: 'number: at least, less than, at most',
    definition: and(
      trait('bet_count', 'gte', 2),
      trait('session_count', 'lt', 10),
      trait('churn_score', 'lte', 0.75),
    ),
    in: { 'on the edges': { traits: { bet_count: 2, session_count: 9, churn_score: 0.75 } } },
    out: {
      'too few bets': { traits: { bet_count: 1, session_count: 9, churn_score: 0.75 } },
      'too many sessions': { traits: { bet_count: 2, session_count: 10, churn_score: 0.75 } },
      'too high a score': { traits: { bet_count: 2, session_count: 9, churn_score: 0.76 } },
    },
  },
  {
    title: 'number: one of a list, none of another',
    definition: and(trait('kyc_level', 'in', [1, 2]), trait('bet_count', 'nin', [0])),
    in: { both: { traits: { kyc_level: 1, bet_count: 3 } } },
    out: { 'level 3': { traits: { kyc_level: 3, bet_count: 3 } }, 'no bets': { traits: { kyc_level: 1 } } },
  },
  {
    title: 'number: between, both ends included',
    definition: and(trait('ggr', 'between', [-100, 100])),
    in: { low: { traits: { ggr: -100 } }, high: { traits: { ggr: 100 } } },
    out: { below: { traits: { ggr: -101 } }, above: { traits: { ggr: 101 } } },
  },
  {
    title: 'number: known, or not known',
    definition: or(trait('ltv_predicted', 'exists'), trait('kyc_level', 'not_exists')),
    in: { 'known, also 0': { traits: { ltv_predicted: 0 } } },
    out: { 'not known': {} },
  },
  {
    title: 'date: before a moment',
    definition: and(trait('created_at', 'before', '2026-05-15T13:00:00+02:00')),
    in: { 'a millisecond before': { traits: { created_at: HOUR + 1 } } },
    out: { 'at that moment': { traits: { created_at: HOUR } } },
  },
  {
    title: 'date: after a moment',
    definition: and(trait('tier_promoted_at', 'after', '2026-05-01T00:00:00Z')),
    in: { later: { traits: { tier_promoted_at: 2 * DAY } } },
    out: { earlier: { traits: { tier_promoted_at: 15 * DAY } }, never: {} },
  },
  {
    title: 'date: between two moments, both included',
    definition: and(trait('created_at', 'between', ['2026-05-14T12:00:00Z', '2026-05-15T12:00:00Z'])),
    in: { first: { traits: { created_at: DAY } }, end: { traits: { created_at: 0 } } },
    out: { earlier: { traits: { created_at: DAY + 1 } }, ahead: { traits: { created_at: -1 } } },
  },
  {
    title: 'date: within the last days',
    definition: and(trait('last_seen_at', 'within_last', { days: 7 })),
    in: { now: { traits: { last_seen_at: 0 } }, inside: { traits: { last_seen_at: 7 * DAY - 1 } } },
    out: { 'just passed': { traits: { last_seen_at: 7 * DAY } }, ahead: { traits: { last_seen_at: -1 } } },
  },
  {
    title: 'date: not within the last hours, which holds for never',
    definition: and(trait('tier_promoted_at', 'not_within_last', { hours: 48 })),
    in: { never: {}, 'just passed': { traits: { tier_promoted_at: 48 * HOUR } } },
    out: { inside: { traits: { tier_promoted_at: 47 * HOUR } } },
  },
  {
    title: 'custom attribute: equal, by its type',
    definition: and(trait('custom_attributes.vip_level', 'eq', 12)),
    in: { 'the number': { attributes: { vip_level: 12 } } },
    out: {
      'the text': { attributes: { vip_level: '12' } },
      null: { attributes: { vip_level: null } },
      none: {},
    },
  },
  {
    title: 'custom attribute: text that could be another type',
    definition: and(trait('custom_attributes.code', 'in', ['12', 'true', 'spring', ''])),
    in: {
      text: { attributes: { code: '12' } },
      word: { attributes: { code: 'spring' } },
      empty: { attributes: { code: '' } },
    },
    out: { number: { attributes: { code: 12 } }, boolean: { attributes: { code: true } }, none: {} },
  },
  {
    title: 'custom attribute: true or false',
    definition: and(trait('custom_attributes.newsletter', 'neq', true)),
    in: {
      no: { attributes: { newsletter: false } },
      'the text': { attributes: { newsletter: 'true' } },
      none: {},
    },
    out: { yes: { attributes: { newsletter: true } } },
  },
  {
    title: 'custom attribute: a number compared',
    definition: and(trait('custom_attributes.points', 'between', [10, 20])),
    in: { ten: { attributes: { points: 10 } }, 'and a half': { attributes: { points: 19.5 } } },
    out: { 'the text': { attributes: { points: '15' } }, more: { attributes: { points: 20.5 } }, none: {} },
  },
  {
    title: 'custom attribute: a list has this element, a text this part',
    definition: and(trait('custom_attributes.tags', 'contains', 'vip')),
    in: {
      'in the list': { attributes: { tags: ['new', 'vip'] } },
      'in the text': { attributes: { tags: 'old vip' } },
    },
    out: {
      'part of an element': { attributes: { tags: ['vip2'] } },
      'other type': { attributes: { tags: { vip: 1 } } },
    },
  },
  {
    title: 'custom attribute: begins with',
    definition: and(trait('custom_attributes.affiliate', 'starts_with', 'net_')),
    in: { text: { attributes: { affiliate: 'net_7' } } },
    out: {
      'no underscore': { attributes: { affiliate: 'net7' } },
      list: { attributes: { affiliate: ['net_7'] } },
    },
  },
  {
    title: 'custom attribute: a text that is a date',
    definition: and(trait('custom_attributes.shop_visit', 'within_last', { days: 3 })),
    in: {
      day: { attributes: { shop_visit: '2026-05-13' } },
      time: { attributes: { shop_visit: '2026-05-15T13:30:00+02:00' } },
    },
    out: {
      earlier: { attributes: { shop_visit: '2026-05-12' } },
      words: { attributes: { shop_visit: 'today' } },
      number: { attributes: { shop_visit: 3 } },
    },
  },
  {
    title: 'custom attribute: there is none; the key is no path',
    definition: and(trait('custom_attributes.a.b', 'not_exists')),
    in: { none: {}, null: { attributes: { 'a.b': null } }, 'a path': { attributes: { a: { b: 1 } } } },
    out: { 'the key': { attributes: { 'a.b': 0 } } },
  },
  {
    title: 'groups: AND, OR and NOT, one in another',
    definition: and(
      or(trait('current_tier_code', 'eq', 'gold'), trait('bet_count', 'gte', 100)),
      not(and(trait('kyc_status', 'eq', 'rejected'), trait('kyc_level', 'eq', 0))),
    ),
    in: {
      gold: { traits: { current_tier_code: 'gold' } },
      'rejected later': { traits: { bet_count: 100, kyc_status: 'rejected', kyc_level: 1 } },
    },
    out: {
      rejected: { traits: { current_tier_code: 'gold', kyc_status: 'rejected' } },
      'neither of two': { traits: { current_tier_code: 'silver', bet_count: 99 } },
    },
  },
];
