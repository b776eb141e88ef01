// The KPI dictionary: what every metric is called, what it means, and of what it is made. Documentation, tooltips and the
// texts of the API come from it.

import { GGR_TERMS, NGR_TERMS } from '../../../ledger/money/ngr-sql.ts';
import type { Measure } from './measure-queries.ts';

/** So many times each measure, added up. */
export type Terms = Readonly<Partial<Record<Measure, 1 | -1>>>;

/** Where bonus cost comes from: what operators' feeds say, or the grants that went through us. */
export type BonusCostSource = 'feed' | 'grants';

interface Entry {
  label: string;
  /** What it means, for tooltips and documentation. */
  text: string;
}

interface SumEntry extends Entry {
  unit: 'money' | 'count';
  terms: Terms | Readonly<Record<BonusCostSource, Terms>>;
  /** Less the deductions of `config.reporting.deductions`. */
  is_after_deductions?: true;
}

interface RateEntry extends Entry {
  unit: 'rate';
  /** Names of metrics. */
  numerator: string;
  denominator: string;
}

interface DeductionsEntry extends Entry {
  unit: 'deductions';
}

export type Metric = SumEntry | RateEntry | DeductionsEntry;

const of = (measure: Measure): Terms => ({ [measure]: 1 });
const METRICS = {
  deposits: {
    label: 'Deposits',
    unit: 'money',
    text: 'Confirmed deposits, gross: what was taken back later is in reversed deposits, on the day of the reversal.',
    terms: of('deposits'),
  },
  withdrawals: {
    label: 'Withdrawals',
    unit: 'money',
    text: 'Confirmed withdrawals, gross, as deposits.',
    terms: of('withdrawals'),
  },
  deposits_reversed: {
    label: 'Reversed deposits',
    unit: 'money',
    text: 'What chargebacks and other reversals took back of deposits, on the day of the reversal.',
    terms: of('deposits_reversed'),
  },
  withdrawals_reversed: {
    label: 'Reversed withdrawals',
    unit: 'money',
    text: 'What came back of withdrawals, on the day of the reversal.',
    terms: of('withdrawals_reversed'),
  },
  net_deposits: {
    label: 'Net deposits',
    unit: 'money',
    text: 'Deposits less reversed deposits, less withdrawals, plus reversed withdrawals.',
    terms: { deposits: 1, deposits_reversed: -1, withdrawals: -1, withdrawals_reversed: 1 },
  },
  wagered: {
    label: 'Stakes',
    unit: 'money',
    text: 'Stakes that count, on the day of the stake. A voided bet counts nothing.',
    terms: of('wagered'),
  },
  won: {
    label: 'Payouts',
    unit: 'money',
    text: 'Payouts that count, on the day of the payout.',
    terms: of('won'),
  },
  bonus_wagered: {
    label: 'Bonus stakes',
    unit: 'money',
    text: 'The part of stakes that was bonus money.',
    terms: of('bonus_wagered'),
  },
  bonus_won: {
    label: 'Bonus payouts',
    unit: 'money',
    text: 'The part of payouts that was bonus money.',
    terms: of('bonus_won'),
  },
  ggr: {
    label: 'GGR',
    unit: 'money',
    text: 'Gross gaming revenue: stakes less payouts, as in the totals of the players.',
    terms: GGR_TERMS,
  },
  bonus_cost: {
    label: 'Bonus cost',
    unit: 'money',
    text: 'Bonus stakes less bonus payouts, plus what was credited; or, where the project counts its grants, the released amounts of bonuses that were completed.',
    terms: { feed: { bonus_wagered: 1, bonus_won: -1, credited: 1 }, grants: of('bonus_released') },
  },
  deductions: {
    label: 'Deductions',
    unit: 'deductions',
    text: 'What taxes, fees and other parties take, a column for each entry of `config.reporting.deductions`: rounded half to even in each interval and group.',
  },
  ngr: {
    label: 'NGR',
    unit: 'money',
    text: 'Net gaming revenue: GGR less bonus cost, plus what was debited, less deductions. Without deductions it is the ngr of the players.',
    terms: NGR_TERMS,
    is_after_deductions: true,
  },
  ngr_before_deductions: {
    label: 'NGR before deductions',
    unit: 'money',
    text: 'GGR less bonus cost, plus what was debited: the ngr of the players. NGR of single players is this one, because deductions are rounded for many players together.',
    terms: NGR_TERMS,
  },
  credited: {
    label: 'Credited',
    unit: 'money',
    text: 'Cashback, prizes, released bonuses and goodwill that were paid.',
    terms: of('credited'),
  },
  debited: {
    label: 'Debited',
    unit: 'money',
    text: 'Fees and other amounts that were taken.',
    terms: of('debited'),
  },
  hold: {
    label: 'Hold',
    unit: 'rate',
    text: 'GGR divided by stakes.',
    numerator: 'ggr',
    denominator: 'wagered',
  },
  payout: {
    label: 'Payout rate',
    unit: 'rate',
    text: 'Payouts divided by stakes.',
    numerator: 'won',
    denominator: 'wagered',
  },
  bonus_ratio: {
    label: 'Bonus ratio',
    unit: 'rate',
    text: 'Bonus cost divided by GGR.',
    numerator: 'bonus_cost',
    denominator: 'ggr',
  },
  arpu: {
    label: 'ARPU',
    unit: 'rate',
    text: 'NGR divided by active players.',
    numerator: 'ngr',
    denominator: 'active_players',
  },
  deposit_count: {
    label: 'Number of deposits',
    unit: 'count',
    text: 'Confirmed deposits.',
    terms: of('deposit_count'),
  },
  deposits_failed: {
    label: 'Failed deposits',
    unit: 'count',
    text: 'Deposits that failed.',
    terms: of('deposits_failed'),
  },
  deposit_attempts: {
    label: 'Deposit attempts',
    unit: 'count',
    text: 'Deposits that were confirmed or failed.',
    terms: { deposit_count: 1, deposits_failed: 1 },
  },
  deposit_success: {
    label: 'Deposit success rate',
    unit: 'rate',
    text: 'Confirmed deposits divided by those that were confirmed or failed.',
    numerator: 'deposit_count',
    denominator: 'deposit_attempts',
  },
  active_players: {
    label: 'Active players',
    unit: 'count',
    text: 'Players with activity of their own: logins, sessions, page views, deposits, withdrawals, bets. Each once in an interval.',
    terms: of('active_players'),
  },
  depositors: {
    label: 'Depositors',
    unit: 'count',
    text: 'Players with a confirmed deposit. Each once in an interval.',
    terms: of('depositors'),
  },
  bettors: {
    label: 'Bettors',
    unit: 'count',
    text: 'Players who placed or settled a bet. Each once in an interval.',
    terms: of('bettors'),
  },
  first_deposits: {
    label: 'First deposits (FTD)',
    unit: 'count',
    text: 'Players who are not deleted, by the interval of the first deposit that was ever confirmed. A later reversal does not undo it.',
    terms: of('first_deposits'),
  },
  new_players: {
    label: 'New players',
    unit: 'count',
    text: 'Players who are not deleted, by the interval in which they were first known.',
    terms: of('new_players'),
  },
  bonuses_granted: {
    label: 'Bonuses granted',
    unit: 'count',
    text: 'Bonuses that platforms have credited.',
    terms: of('bonuses_granted'),
  },
  bonus_granted: {
    label: 'Granted amount',
    unit: 'money',
    text: 'Amounts of bonuses that were credited, at the rate of their grants.',
    terms: of('bonus_granted'),
  },
  bonus_players: {
    label: 'Players with a bonus',
    unit: 'count',
    text: 'Players to whom a bonus was credited. Each once in an interval.',
    terms: of('bonus_players'),
  },
  bonuses_completed: {
    label: 'Bonuses completed',
    unit: 'count',
    text: 'Bonuses whose wagering was completed.',
    terms: of('bonuses_completed'),
  },
  bonus_released: {
    label: 'Released amount',
    unit: 'money',
    text: 'What completed bonuses have become as real money, at the completion.',
    terms: of('bonus_released'),
  },
  bonuses_ended: {
    label: 'Bonuses ended otherwise',
    unit: 'count',
    text: 'Bonuses that have expired, or were forfeited, lost or cancelled after they were credited.',
    terms: of('bonuses_ended'),
  },
  signups: { label: 'Sign-ups', unit: 'count', text: 'Events of the name signup.', terms: of('signups') },
  events: { label: 'Events', unit: 'count', text: 'All events.', terms: of('events') },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as [MetricName, ...MetricName[]];

/** The entry of a metric. */
export function metricOf(name: MetricName): Metric {
  return METRICS[name];
}

/** Of what a metric is made in a project whose bonus cost comes from `source`; of rates and deductions nothing. */
export function termsOf(name: MetricName, source: BonusCostSource): Terms {
  const metric = metricOf(name);
  if (metric.unit === 'rate' || metric.unit === 'deductions') return {};
  return 'feed' in metric.terms ? metric.terms[source] : metric.terms;
}
