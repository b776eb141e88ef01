import { z } from 'zod';
import type { BonusType } from './config.ts';

/** What the wagering requirement is a multiple of (spec part 2). */
export const WAGERING_BASES = ['bonus', 'bonus_plus_deposit', 'deposit', 'winnings'] as const;
export type WageringBasis = (typeof WAGERING_BASES)[number];

const OF_DEPOSITS: readonly WageringBasis[] = ['bonus', 'bonus_plus_deposit', 'deposit'];
const OF_GIFTS: readonly WageringBasis[] = ['bonus'];
const OF_PLAYS: readonly WageringBasis[] = ['bonus', 'winnings'];

/** The bases that a type can have: only where there is a deposit, or winnings of its own. */
export const BASES_OF_TYPE: Readonly<Record<BonusType, readonly WageringBasis[]>> = {
  deposit_match: OF_DEPOSITS,
  reload: OF_DEPOSITS,
  free_spins: OF_PLAYS,
  no_deposit: OF_GIFTS,
  cashback: OF_GIFTS,
  free_bet: OF_PLAYS,
};

/** The kinds of games that may count differently towards wagering. */
export const CONTRIBUTION_KEYS = [
  'slots',
  'table',
  'live',
  'default',
  'sport',
  'crash',
  'dice',
  'other',
] as const;
export type ContributionKey = (typeof CONTRIBUTION_KEYS)[number];

const percentage = z.int().min(0).max(100).optional();

const table = z.strictObject(
  Object.fromEntries(CONTRIBUTION_KEYS.map((key) => [key, percentage])),
) as z.ZodType<GameContribution>;

/** How much of a stake counts, in percent by kind of game, as terms have it; `contributionOf` reads it. */
export const gameContribution = table.refine(
  (given) => Object.keys(given).length > 0,
  'must name at least one kind of game, or be null',
);

/** As a caller writes it; null if it names no kind of game. */
export const writtenContribution = table
  .nullable()
  .transform((given) => (given === null || Object.keys(given).length === 0 ? null : given));

/** Percentages by kind of game. */
export type GameContribution = { [Key in ContributionKey]?: number | undefined };

/**
 * How much of a stake counts, in percent (0 to 100): what the table says of the kind of game, else what it says of
 * `default`, else 0. Without a table every game counts in full.
 */
export function contributionOf(table: GameContribution | null, key: ContributionKey): number {
  if (table === null) return 100;
  return table[key] ?? table.default ?? 0;
}
