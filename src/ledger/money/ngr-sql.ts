import type { Deduction, ReportingSettings } from '../../tenants/config/read.ts';
import { DEDUCTION_PARTS } from './deductions.ts';
import { BET_EVENTS, eventsOfKind } from './ledger.ts';

/** A sum over events, in ClickHouse. */
export interface SumSql {
  events: readonly string[];
  /** What one of them adds, an integer of up to 128 bits. */
  adds: string;
}

/** Names of events in a statement. They come from the catalogue, so none has a quote. */
export function named(events: readonly string[]): string {
  return events.length === 1 ? `event = '${events[0]}'` : `event in ('${events.join("', '")}')`;
}

const ofBets = (adds: string): SumSql => ({ events: BET_EVENTS, adds });

/** The sums that net gaming revenue and deductions are made of, in the smallest unit of the base currency. */
export const REVENUE_SUMS = {
  // Not stake_counted: those of before an upgrade show at once.
  deposits: { events: ['deposit_confirmed'], adds: 'ifNull(base_amount, 0)' },
  wagered: ofBets('stake_counted'),
  won: ofBets('payout_counted'),
  bonus_wagered: ofBets('bonus_stake_counted'),
  bonus_won: ofBets('bonus_payout_counted'),
  credited: { events: ['balance_credited'], adds: 'stake_counted' },
  debited: { events: ['balance_debited'], adds: 'stake_counted' },
  bonus_released: { events: ['bonus_completed'], adds: 'ifNull(base_payout, 0)' },
} as const satisfies Record<string, SumSql>;
export type RevenueSum = keyof typeof REVENUE_SUMS;
type RevenueTerms = Readonly<Partial<Record<RevenueSum, 1 | -1>>>;

export const GGR_TERMS: RevenueTerms = { wagered: 1, won: -1 };

/** Of what net gaming revenue is made before deductions, by where bonus cost comes from. */
export const NGR_TERMS: Readonly<Record<ReportingSettings['bonus_cost'], RevenueTerms>> = {
  feed: { ...GGR_TERMS, bonus_wagered: -1, bonus_won: 1, credited: -1, debited: 1 },
  grants: { ...GGR_TERMS, bonus_released: -1, debited: 1 },
};

/** Sums, so many times each, as one. Those of other events add nothing; sums of the same events are one branch. */
export function sumOfTerms(terms: readonly (readonly [SumSql, 1 | -1])[]): SumSql {
  const sums = new Map<string, SumSql>();
  for (const [{ events, adds }, times] of terms) {
    const key = events.join();
    const known = sums.get(key)?.adds ?? '';
    sums.set(key, { events, adds: `${known} ${times < 0 ? '-' : '+'} toInt128(${adds})` });
  }
  const all = [...sums.values()];
  const adds = all.map(({ events, adds }) => `${named(events)}, 0${adds}`).join(', ');
  return { events: all.flatMap(({ events }) => events), adds: `multiIf(${adds}, toInt128(0))` };
}

const ofTerms = (terms: RevenueTerms): SumSql =>
  sumOfTerms(Object.entries(terms).map(([name, times]) => [REVENUE_SUMS[name as RevenueSum], times]));

/** What a deduction is a share of. */
export function basisSum({ basis, product }: Pick<Deduction, 'basis' | 'product'>): SumSql {
  if (basis === 'deposits') return REVENUE_SUMS.deposits;
  const events = product === undefined ? BET_EVENTS : eventsOfKind(product);
  return { events, adds: basis === 'stakes' ? 'stake_counted' : GGR_SQL };
}

/** What an event of a bet adds to the gross revenue, in ClickHouse. */
export const GGR_SQL = 'toInt128(stake_counted) - payout_counted';

/** The events that net gaming revenue of the players is made of. */
export const { events: NGR_EVENTS, adds: NGR_SQL } = ofTerms(NGR_TERMS.feed);

/** Whether net gaming revenue of a project is not that of the players' totals. */
export function hasSettingsOfNgr({
  bonus_cost,
  deductions,
}: Pick<ReportingSettings, 'bonus_cost' | 'deductions'>): boolean {
  return bonus_cost !== 'feed' || deductions.length > 0;
}

/** Net gaming revenue as a project defines it, in ClickHouse. */
export interface NetRevenueSql {
  /** The events that it is made of; others add 0 to all of the following. */
  events: readonly string[];
  /** What an event adds before deductions. */
  before: string;
  /** For each deduction, what an event adds to what it is a share of. */
  bases: readonly string[];
  /** What an event adds after deductions, in parts of the smallest unit: `scale` parts are one. Never rounded. */
  scaled: string;
  scale: 1n | typeof DEDUCTION_PARTS;
}

/**
 * Net gaming revenue of events as `config.reporting` defines it. Sums of `before` and of `bases` are what `lessDeductions` takes,
 * which rounds; where each player needs an exact value, it is the sum of `scaled`.
 */
export function netRevenueSql({
  bonus_cost,
  deductions,
}: Pick<ReportingSettings, 'bonus_cost' | 'deductions'>): NetRevenueSql {
  const { events, adds: before } = ofTerms(NGR_TERMS[bonus_cost]);
  const sums = deductions.map(basisSum);
  const bases = sums.map((basis) => `if(${named(basis.events)}, toInt128(${basis.adds}), toInt128(0))`);
  const all = [...new Set([...events, ...sums.flatMap((basis) => basis.events)])];
  if (deductions.length === 0) return { events: all, before, bases, scaled: before, scale: 1n };
  const less = deductions.map(({ bp }, i) => ` - ${bp} * (${bases[i]})`).join('');
  return {
    events: all,
    before,
    bases,
    scaled: `${DEDUCTION_PARTS} * (${before})${less}`,
    scale: DEDUCTION_PARTS,
  };
}
