import { holm, unevenP, type Share } from './statistics/decisions.ts';
import { excludesZero, type Interval } from './statistics/interval.ts';
import {
  playersNeeded,
  sampleOf,
  skewOf,
  slopeOf,
  addSums,
  welch,
  welchInterval,
  welchP,
  type Difference,
  type Sums,
} from './statistics/means.ts';
import { ALPHA } from './statistics/power.ts';
import { newcombe, newcombeP, rateOf, type Counted } from './statistics/rates.ts';
import { sequenceInterval } from './statistics/sequence.ts';
import { HARMS, type Harm } from './uplift-queries.ts';

/** Up to so many players a permutation test decides about money. */
export const MOST_PERMUTED = 50_000;
/** Fewer conversions than this, of both arms, decide nothing. */
const LEAST_CONVERSIONS = 30;
/** Arms that are so unlikely as drawn were not drawn as planned. */
const UNEVEN = 0.001;

/** What is known of an arm: exact sums of its players' money, in parts of the smallest unit ({@link Judged.scale}). */
export interface ArmData {
  arm: string;
  converted: number;
  with_value: number;
  /** Of all players together, in the smallest unit of the base currency. */
  ngr: bigint;
  sums: Sums;
  /** The same of values that are cut to the cap; null: there is no cap. */
  cut_sums: Sums | null;
  /** Players whose value the cap cuts. */
  cut: number;
  harm: Record<Harm, number>;
}

/**
 * When something may be said. `once`: when the last window is over. `always`: at every look, by a confidence sequence.
 */
export type Looks = 'once' | 'always';

/** An experiment as it is judged. */
export interface Judged {
  held_out: ArmData;
  treated: readonly ArmData[];
  looks: Looks;
  /** Of looks `once`: whether the last window is over. */
  is_over: boolean;
  /** So many parts of sums are the smallest unit. */
  scale: bigint;
  /** Which figure decides: the rate where there is a goal. */
  primary: 'rate' | 'money';
  /** Who was drawn into each arm, and how many should be. */
  shares: readonly Share[];
  /** The p-value of a permutation test of the money of a treated arm; null: there are too many players. */
  permutedP: (arm: string) => number | null;
}

/** Why nothing is said. */
export type Silence =
  'window_open' | 'uneven_arms' | 'few_conversions' | 'skewed' | 'no_players' | 'no_difference_shown';

/** The difference of a figure between an arm and those held out; null where nothing may be said. */
export interface Effect {
  difference: number;
  interval: Interval | null;
  /** Corrected for the number of arms; null while none may be said, and always of a sequence. */
  p_value: number | null;
  method: 'newcombe' | 'permutation' | 'welch' | 'sequence';
}

/** The money of an arm compared with those held out, per player, in the smallest unit of the base currency. */
export interface MoneyEffect extends Effect {
  /** How much of the variance what players did before explains, as a share. */
  explained: number;
  skew: number;
  /** Whether the values are too skewed for so few players. */
  is_skewed: boolean;
  /** The same with values cut to a cap; null: there is none. */
  cut: { difference: number; interval: Interval; cut_players: number; rests_on: number | null } | null;
}

/** What is said about an arm. */
export interface ArmVerdict {
  arm: string;
  rate: Effect | null;
  money: MoneyEffect | null;
  verdict: { decision: 'more' | 'less' | 'none'; reason: Silence | null };
  harm: Record<Harm, { difference: number; interval: Interval; is_worse: boolean }>;
}

/** Compares every treated arm with those held out. */
export function judge(judged: Judged): { uneven_p: number; is_uneven: boolean; arms: ArmVerdict[] } {
  const { held_out, treated, looks, is_over } = judged;
  const uneven_p = unevenP(judged.shares);
  const is_uneven = uneven_p < UNEVEN;
  const level = looks === 'always' ? ALPHA / Math.max(treated.length, 1) : ALPHA;
  const may_say = looks === 'always' || is_over;
  const rates = treated.map((arm) => rateEffect(judged, arm, level));
  const money = treated.map((arm) => moneyEffect(judged, arm, level));
  for (const effects of [rates, money]) correct(effects, may_say);
  const arms = treated.map((arm, i) => {
    const [rate, worth] = [rates[i] ?? null, money[i] ?? null];
    const facts = { judged, arm, is_uneven, may_say, rate, money: worth };
    const harm = Object.fromEntries(
      HARMS.map((name) => [name, harmOf(arm, held_out, name, { looks, level })]),
    ) as ArmVerdict['harm'];
    return { arm: arm.arm, rate, money: worth, verdict: verdictOf(facts), harm };
  });
  return { uneven_p, is_uneven, arms };
}

const countedOf = ({ sums, converted }: ArmData): Counted => ({ players: Number(sums.n), converted });

function rateEffect({ held_out, looks, primary }: Judged, arm: ArmData, level: number): Effect | null {
  if (primary !== 'rate' || arm.sums.n === 0n || held_out.sums.n === 0n) return null;
  const [own, base] = [countedOf(arm), countedOf(held_out)];
  const difference = rateOf(own) - rateOf(base);
  if (looks === 'always')
    return { difference, interval: rateSequence(own, base, level), p_value: null, method: 'sequence' };
  const interval = newcombe(own, base, level);
  return { difference, interval, p_value: newcombeP(own, base), method: 'newcombe' };
}

/**
 * The spread is that of both arms together, as it is without an effect: of a few players who are held out none may have
 * converted yet, which says nothing about the spread.
 */
function rateSequence(own: Counted, base: Counted, level: number): Interval {
  const players = own.players + base.players;
  const rate = players === 0 ? 0 : (own.converted + base.converted) / players;
  if (own.players < 2 || base.players < 2 || rate === 0 || rate === 1) return [-1, 1];
  const standard_error = Math.sqrt(rate * (1 - rate) * (1 / own.players + 1 / base.players));
  return sequenceInterval({ difference: rateOf(own) - rateOf(base), standard_error }, players, level);
}

function moneyEffect(judged: Judged, arm: ArmData, level: number): MoneyEffect | null {
  const { held_out, looks, permutedP, scale } = judged;
  const slope = slopeOf(arm.sums, held_out.sums);
  const [own, base] = [sampleOf(arm.sums, slope), sampleOf(held_out.sums, slope)];
  const found = unitsOf(welch(own, base), scale);
  if (found === undefined) return null;
  const plain = sampleOf(held_out.sums, 0).variance + sampleOf(arm.sums, 0).variance;
  const skew = skewOf(addSums(arm.sums, held_out.sums));
  const permuted = looks === 'once' ? permutedP(arm.arm) : null;
  const fewest = Math.min(own.n, base.n);
  const players = own.n + base.n;
  const always = looks === 'always';
  return {
    difference: found.difference,
    interval: always ? sequenceInterval(found, players, level) : welchInterval(found, level),
    p_value: always ? null : (permuted ?? welchP(found)),
    method: always ? 'sequence' : permuted === null ? 'welch' : 'permutation',
    explained: plain === 0 ? 0 : 1 - (own.variance + base.variance) / plain,
    skew,
    is_skewed: permuted === null && fewest < playersNeeded(skew),
    cut: cutEffect(arm, held_out, { level, always, scale, sign: Math.sign(found.difference) }),
  };
}

/** A difference of parts of the smallest unit in the unit. */
function unitsOf(found: Difference | undefined, scale: bigint): Difference | undefined {
  if (found === undefined || scale === 1n) return found;
  const { difference, standard_error, df } = found;
  return { difference: difference / Number(scale), standard_error: standard_error / Number(scale), df };
}

function cutEffect(
  arm: ArmData,
  held_out: ArmData,
  { level, always, scale, sign }: { level: number; always: boolean; scale: bigint; sign: number },
): MoneyEffect['cut'] {
  if (arm.cut_sums === null || held_out.cut_sums === null) return null;
  const slope = slopeOf(arm.cut_sums, held_out.cut_sums);
  const [own, base] = [sampleOf(arm.cut_sums, slope), sampleOf(held_out.cut_sums, slope)];
  const found = unitsOf(welch(own, base), scale);
  if (found === undefined) return null;
  const interval = always ? sequenceInterval(found, own.n + base.n, level) : welchInterval(found, level);
  const cut_players = arm.cut + held_out.cut;
  const turns = Math.sign(found.difference) !== sign;
  return { difference: found.difference, interval, cut_players, rests_on: turns ? cut_players : null };
}

/** Corrects the p-values of all arms together; before anything may be said there are none. */
function correct(effects: readonly (Effect | null)[], may_say: boolean): void {
  const known = effects.filter((effect) => effect !== null && effect.p_value !== null);
  const corrected = holm(known.map((effect) => effect?.p_value ?? 1));
  for (const [i, effect] of known.entries())
    if (effect !== null) effect.p_value = may_say ? (corrected[i] ?? 1) : null;
}

interface Facts {
  judged: Judged;
  arm: ArmData;
  is_uneven: boolean;
  may_say: boolean;
  rate: Effect | null;
  money: MoneyEffect | null;
}

function verdictOf({ judged, arm, is_uneven, may_say, rate, money }: Facts): ArmVerdict['verdict'] {
  const { primary, held_out } = judged;
  const none = (reason: Silence) => ({ decision: 'none', reason }) as const;
  const effect = primary === 'rate' ? rate : money;
  if (!may_say) return none('window_open');
  if (effect === null) return none('no_players');
  if (is_uneven) return none('uneven_arms');
  const converted =
    primary === 'rate' ? arm.converted + held_out.converted : arm.with_value + held_out.with_value;
  if (converted < LEAST_CONVERSIONS) return none('few_conversions');
  if (primary === 'money' && money?.is_skewed === true) return none('skewed');
  const { p_value, interval, difference } = effect;
  const shows = p_value === null ? interval !== null && excludesZero(interval) : p_value <= ALPHA;
  if (!shows) return none('no_difference_shown');
  return { decision: difference > 0 ? 'more' : 'less', reason: null };
}

function harmOf(
  arm: ArmData,
  held_out: ArmData,
  name: Harm,
  { looks, level }: { looks: Looks; level: number },
) {
  const own = { players: Number(arm.sums.n), converted: arm.harm[name] };
  const base = { players: Number(held_out.sums.n), converted: held_out.harm[name] };
  const interval = looks === 'always' ? rateSequence(own, base, level) : newcombe(own, base, level);
  const [low] = interval;
  return { difference: rateOf(own) - rateOf(base), interval, is_worse: low > 0 };
}
