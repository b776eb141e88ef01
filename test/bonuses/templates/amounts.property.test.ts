import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  baseCeil,
  grantAmounts,
  inCurrency,
  wageringRequired,
  type GrantAmounts,
} from '../../../src/bonuses/templates/amounts.ts';
import type { ExactRate } from '../../../src/ledger/money/conversion.ts';
import type { BonusConfig } from '../../../src/bonuses/templates/config.ts';
import { parseTerms, termsJson, type BonusTerms } from '../../../src/bonuses/templates/terms.ts';
import { runs } from '../../engines/effort.ts';

// The oracle knows only inequalities: an amount is the largest (or smallest) whole number that keeps to them. It divides
// nothing and knows no basis points.

/** A ratio of whole numbers, the lower one positive. */
type Ratio = readonly [over: bigint, under: bigint];
const atMost = (n: bigint, [over, under]: Ratio) => n * under <= over;

/** The largest n ≥ 0 with n ≤ the ratio, found by halving. */
function largestUpTo(ratio: Ratio): bigint {
  let [low, high] = [0n, 1n];
  while (atMost(high, ratio)) high *= 2n;
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (atMost(middle, ratio)) low = middle;
    else high = middle;
  }
  return low;
}

/** A decimal text as a ratio, digit by digit. */
function ratioOf(decimal: string): Ratio {
  let [over, under, seen] = [0n, 1n, false];
  for (const sign of decimal) {
    if (sign === '.') seen = true;
    else {
      over = over * 10n + BigInt('0123456789'.indexOf(sign));
      if (seen) under *= 10n;
    }
  }
  return [over, under];
}

const times = (amount: bigint, ...ratios: Ratio[]): Ratio =>
  ratios.reduce<Ratio>(([over, under], [a, b]) => [over * a, under * b], [amount, 1n]);
const percentOf = (percent: number): Ratio => times(1n, ratioOf(percent.toFixed(2)), [1n, 100n]);
const inverted = ([over, under]: Ratio): Ratio => [under, over];
const scaled = ({ steps, from_scale, to_scale }: ExactRate): Ratio =>
  times(1n, ...steps.map(({ rate, is_inverse }) => (is_inverse ? inverted(ratioOf(rate)) : ratioOf(rate))), [
    10n ** BigInt(to_scale),
    10n ** BigInt(from_scale),
  ]);
const smaller = (a: bigint, b: bigint) => (a < b ? a : b);

const amount = fc.bigInt({ min: 1n, max: 10n ** 28n - 1n });
const money = fc.oneof(amount, fc.bigInt({ min: 1n, max: 100_000n }));
const percent = (max: number) => fc.integer({ min: 1, max: max * 100 }).map((n) => n / 100);
const scale = fc.integer({ min: 0, max: 18 });
const step = fc.record({
  rate: fc
    .tuple(
      fc.oneof(fc.bigInt({ min: 1n, max: 10n ** 20n }), fc.bigInt({ min: 1n, max: 200n })),
      fc.integer({ min: 0, max: 30 }),
    )
    .map(([digits, places]) => {
      const text = String(digits).padStart(places + 1, '0');
      return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
    }),
  is_inverse: fc.boolean(),
});
/** Of a pair, or across the base currency. */
const rate: fc.Arbitrary<ExactRate> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 2 }),
  from_scale: scale,
  to_scale: scale,
});

function termsWith(config: BonusConfig, rest: Partial<BonusTerms> = {}): BonusTerms {
  return {
    terms_version: 1,
    template_id: '00000000-0000-4000-8000-000000000001',
    template_version: 1,
    name: 'Welcome',
    product: 'casino',
    config,
    wagering: { multiplier_hundredths: 0, basis: 'bonus' },
    game_contribution: null,
    max_bet: null,
    max_win_cap: null,
    max_bet_action: 'flag',
    wallet_model: 'sticky',
    time_limit_hours: null,
    ...rest,
  };
}

const config: fc.Arbitrary<BonusConfig> = fc.oneof(
  fc.record({
    type: fc.constantFrom('deposit_match', 'reload'),
    match_percent: percent(1_000),
    cap_amount: money,
    currency: fc.constant('EUR'),
    min_deposit: fc.option(money),
  }),
  fc.record({
    type: fc.constant('free_spins' as const),
    count: fc.integer({ min: 1, max: 1_000 }),
    value_per_spin: money,
    currency: fc.constant('EUR'),
    eligible_games: fc.constant<string[]>(['book']),
  }),
  fc.record({ type: fc.constant('no_deposit' as const), amount: money, currency: fc.constant('EUR') }),
  fc.record({
    type: fc.constant('cashback' as const),
    percent: percent(100),
    window_days: fc.constant(7),
    min_loss: fc.oneof(fc.constant(0n), money),
    currency: fc.constant('EUR'),
    cap_amount: money,
    basis: fc.constantFrom('net_loss' as const, 'turnover' as const),
  }),
  fc.record({
    type: fc.constant('free_bet' as const),
    amount: money,
    currency: fc.constant('EUR'),
    min_odds: fc.option(fc.constant('1.5')),
    stake_returned: fc.boolean(),
  }),
);

/** An amount of the terms in the grant's currency, by the oracle. */
function converted(value: bigint, by: ExactRate | undefined): bigint {
  if (by === undefined || value === 0n) return value;
  const exact = largestUpTo(times(value, scaled(by)));
  return exact === 0n ? 1n : exact;
}

/** What the oracle gives; undefined: nothing. */
function expected(
  terms: BonusTerms,
  by: ExactRate | undefined,
  deposit: bigint,
  loss: bigint,
): bigint | undefined {
  const own = terms.config;
  const least = (value: bigint) => (value === 0n ? undefined : value);
  switch (own.type) {
    case 'deposit_match':
    case 'reload': {
      if (deposit < converted(own.min_deposit ?? 0n, by)) return undefined;
      const matched = largestUpTo(times(deposit, percentOf(own.match_percent)));
      return least(smaller(matched, converted(own.cap_amount, by)));
    }
    case 'free_spins': {
      let sum = 0n;
      for (let spin = 0; spin < own.count; spin++) sum += converted(own.value_per_spin, by);
      return sum;
    }
    case 'no_deposit':
    case 'free_bet':
      return converted(own.amount, by);
    case 'cashback': {
      if (loss < converted(own.min_loss, by) || loss <= 0n) return undefined;
      const share = largestUpTo(times(loss, percentOf(own.percent)));
      return least(smaller(share, converted(own.cap_amount, by)));
    }
  }
}

const granted = (answer: ReturnType<typeof grantAmounts>): GrantAmounts => {
  if (answer.kind === 'refused') throw new Error(answer.message);
  return answer;
};

describe('the amounts of a grant', () => {
  it('are those of an oracle that knows only inequalities, for every type, currency and scale', () => {
    fc.assert(
      fc.property(config, fc.option(rate, { nil: undefined }), money, money, (own, by, deposit, loss) => {
        const terms = termsWith(own);
        const answer = grantAmounts(terms, {
          deposit_amount: deposit,
          loss,
          ...(by === undefined ? {} : { currency: 'USD', rate: by }),
        });
        const exact = expected(terms, by, deposit, loss);
        const bonus = exact !== undefined && exact < 10n ** 38n ? exact : undefined;
        expect(answer.kind).toBe(bonus === undefined ? 'refused' : 'amounts');
        if (answer.kind === 'refused') return;
        expect(answer.bonus_amount).toBe(bonus);
        expect(answer.currency).toBe(by === undefined ? 'EUR' : 'USD');
      }),
      { numRuns: runs(1_000) },
    );
  });

  it('are never above the terms, and a converted limit is never above the limit', () => {
    fc.assert(
      fc.property(config, rate, money, money, money, money, (own, by, deposit, loss, max_bet, win_cap) => {
        const terms = termsWith(own, { max_bet, max_win_cap: win_cap });
        const local = inCurrency(terms, 'USD', by);
        for (const [before, after] of [
          [max_bet, local.max_bet],
          [win_cap, local.max_win_cap],
        ] as const) {
          expect(after).not.toBeNull();
          // Above the exact value only where that is less than the smallest unit.
          expect(after === 1n || atMost(after ?? 0n, times(before, scaled(by)))).toBe(true);
        }
        const answer = grantAmounts(terms, { currency: 'USD', rate: by, deposit_amount: deposit, loss });
        if (answer.kind === 'refused') return;
        expect(answer.max_bet).toBe(local.max_bet);
        if ('cap_amount' in local.config) expect(answer.bonus_amount <= local.config.cap_amount).toBe(true);
        if (own.type === 'free_spins') {
          const value = times(own.value_per_spin * BigInt(own.count), scaled(by));
          expect(answer.bonus_amount === BigInt(own.count) || atMost(answer.bonus_amount, value)).toBe(true);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it('require the floor of basis times multiplier, of each basis', () => {
    const basis = fc.constantFrom('bonus', 'bonus_plus_deposit', 'deposit', 'winnings' as const);
    const hundredths = fc.integer({ min: 0, max: 20_000 });
    fc.assert(
      fc.property(basis, hundredths, money, money, money, (of, m, bonus, deposit, winnings) => {
        const sum = { bonus, bonus_plus_deposit: bonus + deposit, deposit, winnings }[of];
        const required = wageringRequired(
          { multiplier_hundredths: m, basis: of },
          { bonus_amount: bonus, deposit_amount: deposit, winnings },
        );
        expect(required).toBe(largestUpTo(times(sum, ratioOf((m / 100).toFixed(2)))));
      }),
    );
  });

  it('reserve the ceiling in base currency: never less than the grant is worth, and less than one unit more', () => {
    fc.assert(
      fc.property(money, rate, (value, by) => {
        const base = baseCeil(value, by);
        const exact = times(value, scaled(by));
        expect(base * exact[1] >= exact[0]).toBe(true);
        expect((base - 1n) * exact[1] < exact[0]).toBe(true);
        expect(baseCeil(value, 'same')).toBe(value);
      }),
    );
  });

  it('are the same from terms that went through a row', () => {
    fc.assert(
      fc.property(config, money, money, (own, deposit, loss) => {
        const terms = termsWith(own, { max_bet: deposit });
        const stored = parseTerms(JSON.parse(JSON.stringify(termsJson(terms))));
        expect(stored).toEqual(terms);
        expect(grantAmounts(stored, { deposit_amount: deposit, loss })).toEqual(
          grantAmounts(terms, { deposit_amount: deposit, loss }),
        );
      }),
    );
  });
});

describe('by example', () => {
  const match = {
    type: 'deposit_match',
    match_percent: 100,
    cap_amount: 20_000n,
    currency: 'EUR',
    min_deposit: 1_000n,
  } as const;
  const wagering = { multiplier_hundredths: 3_550, basis: 'bonus_plus_deposit' } as const;

  it('100 % up to 200 euro, 35.5 times bonus and deposit', () => {
    const terms = termsWith(match, { wagering });
    expect(granted(grantAmounts(terms, { deposit_amount: 5_001n }))).toMatchObject({
      currency: 'EUR',
      bonus_amount: 5_001n,
      wagering_required: 355_071n,
    });
    expect(granted(grantAmounts(terms, { deposit_amount: 50_000n })).bonus_amount).toBe(20_000n);
  });

  it.each([
    ['no deposit', { deposit_amount: null }, 'BONUS_DEPOSIT_AMOUNT_REQUIRED'],
    ['a deposit below the least', { deposit_amount: 999n }, 'VALIDATION_ERROR'],
    ['a deposit of nothing', { deposit_amount: 0n }, 'VALIDATION_ERROR'],
    ['more than the terms give', { deposit_amount: 5_000n, amount_override: 5_001n }, 'VALIDATION_ERROR'],
    ['an override of nothing', { deposit_amount: 5_000n, amount_override: 0n }, 'VALIDATION_ERROR'],
    ['a currency without a rate', { deposit_amount: 5_000n, currency: 'USD' }, 'BONUS_CONFIG_INVALID'],
  ])('%s is refused', (_what, asked, code) => {
    expect(grantAmounts(termsWith(match, { wagering }), asked)).toMatchObject({ kind: 'refused', code });
  });

  it('a bonus of less than the smallest unit is refused', () => {
    const tiny = termsWith({ ...match, match_percent: 1, min_deposit: null });
    expect(grantAmounts(tiny, { deposit_amount: 99n })).toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(granted(grantAmounts(tiny, { deposit_amount: 100n })).bonus_amount).toBe(1n);
  });

  it('an override goes down, and the wagering with it', () => {
    const terms = termsWith(match, { wagering: { multiplier_hundredths: 1_000, basis: 'bonus' } });
    const asked = { deposit_amount: 5_000n, amount_override: 4_000n };
    expect(granted(grantAmounts(terms, asked))).toMatchObject({
      bonus_amount: 4_000n,
      wagering_required: 40_000n,
    });
  });

  it('cashback of a loss below the least, or of a win, is not eligible', () => {
    const cashback = termsWith({
      type: 'cashback',
      percent: 12.5,
      window_days: 7,
      min_loss: 1_000n,
      currency: 'EUR',
      cap_amount: 5_000n,
      basis: 'net_loss',
    });
    expect(grantAmounts(cashback, { loss: 999n })).toMatchObject({ code: 'NOT_ELIGIBLE' });
    expect(grantAmounts(cashback, { loss: -5n })).toMatchObject({ code: 'NOT_ELIGIBLE' });
    expect(granted(grantAmounts(cashback, { loss: 1_001n })).bonus_amount).toBe(125n);
    expect(granted(grantAmounts(cashback, { loss: 1_000_000n })).bonus_amount).toBe(5_000n);
  });

  it('winnings are wagered once the platform reports them', () => {
    const spins = termsWith(
      {
        type: 'free_spins',
        count: 20,
        value_per_spin: 10n,
        currency: 'EUR',
        eligible_games: ['book'],
      },
      { wagering: { multiplier_hundredths: 1_000, basis: 'winnings' } },
    );
    const amounts = granted(grantAmounts(spins, {}));
    expect(amounts).toMatchObject({ bonus_amount: 200n, wagering_required: 0n, deposit_amount: null });
    expect(wageringRequired(spins.wagering, { ...amounts, winnings: 35n })).toBe(350n);
  });

  it('a spin of 0.10 EUR is at least one yen', () => {
    const spins = termsWith({
      type: 'free_spins',
      count: 20,
      value_per_spin: 1n,
      currency: 'EUR',
      eligible_games: ['book'],
    });
    const yen = { steps: [{ rate: '20', is_inverse: false }], from_scale: 2, to_scale: 0 };
    expect(granted(grantAmounts(spins, { currency: 'JPY', rate: yen })).bonus_amount).toBe(20n);
  });
});

describe('frozen terms', () => {
  const stored = () =>
    JSON.parse(
      JSON.stringify(termsJson(termsWith({ type: 'no_deposit', amount: 500n, currency: 'EUR' }))),
    ) as { config: Record<string, unknown>; [field: string]: unknown };

  it('have digit strings for amounts', () => {
    expect(stored().config).toEqual({ amount: '500', currency: 'EUR' });
  });

  it.each([
    ['a config of another type', { config: { count: 5 } }, 'config in the terms'],
    ['another version', { terms_version: 2 }, 'terms_version'],
    ['no object', 5, 'terms of the grant'],
  ])('%s cannot be used, and the error says why', (_what, change, fault) => {
    const json = typeof change === 'number' ? change : { ...stored(), ...change };
    expect(() => parseTerms(json)).toThrow(fault);
    expect(() => parseTerms(json)).toThrow(expect.objectContaining({ code: 'BONUS_CONFIG_INVALID' }));
  });
});
