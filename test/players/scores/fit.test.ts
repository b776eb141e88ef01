import { describe, expect, it } from 'vitest';
import { aucOf, brierOf, calibrationOf } from '../../../src/players/scores/nightly/accuracy.ts';
import type { DepositDays } from '../../../src/players/scores/nightly/deposit-queries.ts';
import { fitModel } from '../../../src/players/scores/nightly/fit.ts';
import { historyAt, returnsWithin } from '../../../src/players/scores/nightly/histories.ts';
import { recencyRates } from '../../../src/players/scores/nightly/recency.ts';
import { ngrPerDeposit, scoreOf } from '../../../src/players/scores/nightly/score.ts';
import { dayOf, readDepositDaysOfCdnow } from './cdnow.ts';

const breathe = () => Promise.resolve();

describe('histories', () => {
  it('are what was known at the end of a day', () => {
    const days = [10, 17, 31];
    expect(historyAt(days, 9)).toBeUndefined();
    expect(historyAt(days, 10)).toEqual({ repeats: 0, last: 0, age: 0 });
    expect(historyAt(days, 30)).toEqual({ repeats: 1, last: 1, age: 20 / 7 });
    expect(historyAt(days, 31)).toEqual({ repeats: 2, last: 3, age: 3 });
    expect([returnsWithin(days, 17, 13), returnsWithin(days, 17, 14), returnsWithin(days, 31, 99)]).toEqual([
      false,
      true,
      false,
    ]);
  });
});

describe('accuracy', () => {
  const of = (chances: readonly [number, boolean][]) =>
    chances.map(([chance, has_returned]) => ({ chance, has_returned }));

  it('Brier is the mean squared error, and AUC counts pairs', () => {
    expect(
      brierOf(
        of([
          [1, true],
          [0, true],
          [0.5, false],
        ]),
      ),
    ).toBeCloseTo(1.25 / 3, 10);
    expect(
      aucOf(
        of([
          [0.1, false],
          [0.9, true],
        ]),
      ),
    ).toBe(1);
    expect(
      aucOf(
        of([
          [0.9, false],
          [0.1, true],
        ]),
      ),
    ).toBe(0);
    expect(
      aucOf(
        of([
          [0.5, false],
          [0.5, true],
          [0.5, true],
        ]),
      ),
    ).toBe(0.5);
    expect(
      aucOf(
        of([
          [0.2, true],
          [0.4, false],
          [0.6, true],
          [0.6, false],
        ]),
      ),
    ).toBe((0 + 0 + 1 + 0.5) / 4);
    expect(aucOf(of([[0.2, true]]))).toBeNull();
  });

  it('calibration shows each tenth with its mean prediction and its share', () => {
    expect(
      calibrationOf(
        of([
          [0.02, false],
          [0.08, true],
          [1, true],
        ]),
      ),
    ).toEqual([
      { from: 0, to: 0.1, players: 2, predicted: 0.05, returned: 0.5 },
      { from: 0.9, to: 1, players: 1, predicted: 1, returned: 1 },
    ]);
  });
});

describe('plain recency', () => {
  it('is the share of those who were away as long', () => {
    // Away for 0 days: 3 of 4 come back within 10; away for 20 days: none of 2. One comes later.
    const players = [[100, 105], [100, 110], [100, 101], [100], [80], [80, 140], [101]];
    const rates = recencyRates(players, 100, 10);
    const base = (3 + 1) / (6 + 2);
    expect(rates(0)).toBeCloseTo((3 + 2 * base) / (4 + 2), 10);
    expect(rates(20)).toBeCloseTo((0 + 2 * base) / (2 + 2), 10);
    expect(rates(300)).toBeCloseTo(base, 10);
  });
});

describe('the nightly fit', () => {
  it('of few players waits', async () => {
    const players = Array.from({ length: 150 }, (_, i) => ({ days: [i, i + 30, i + 60], amount: 100 }));
    expect(await fitModel(players, 400, breathe)).toMatchObject({
      status: 'waiting',
      fit: { parameters: null, backtest: null, calibration: [] },
    });
    const newcomers = Array.from({ length: 500 }, () => ({ days: [395, 399], amount: 100 }));
    const fitted = await fitModel(newcomers, 400, breathe);
    expect([fitted.status, fitted.fit.backtest]).toEqual(['waiting', null]);
  });

  it('of real purchases beats plain recency, is calibrated, and scores players', async () => {
    const end = dayOf('1998-06-30');
    const { status, purchases, spending, fit } = await fitModel(
      await readDepositDaysOfCdnow(end),
      end,
      breathe,
    );
    const { backtest, calibration, parameters } = fit;
    expect(status).toBe('on');
    expect(backtest?.windows.length).toBe(6);
    expect(backtest?.windows[0]).toMatchObject({
      from: '1998-06-01T00:00:00.000Z',
      to: '1998-07-01T00:00:00.000Z',
      returned: 138,
    });
    expect(backtest?.brier).toBeLessThan(backtest?.brier_recency ?? 0);
    expect(backtest?.auc).toBeGreaterThan(0.8);
    for (const { predicted, returned, players } of calibration) {
      if (players >= 500) expect(Math.abs(predicted - returned)).toBeLessThan(0.05);
    }
    // In cents: the mean of all players is about 33 dollars.
    const { p = 0, q = 0, v = 0 } = parameters ?? {};
    expect((p * v) / (q - 1)).toBeGreaterThan(2_500);
    expect((p * v) / (q - 1)).toBeLessThan(4_500);

    if (purchases === undefined || spending === undefined) throw new Error('nothing was fitted');
    const model = { purchases, spending, ngr_per_deposit: 0.1 };
    const often = { player_id: '', first_day: end - 500, last_day: end - 2, days: 40, amount: 200_000 };
    const gone = { ...often, last_day: end - 300 };
    const [regular, lapsed] = [often, gone].map((one) => scoreOf(model, one, end, false));
    expect(regular?.churn_score).toBeLessThan(0.3);
    expect(lapsed?.churn_score).toBeGreaterThan(0.95);
    // About 30 days of 50 dollars, of which a tenth is revenue.
    expect(regular?.ltv_predicted).toBeGreaterThan(8_000);
    expect(regular?.ltv_predicted).toBeLessThan(20_000);
    expect(lapsed?.ltv_predicted).toBeLessThan(200);
    expect(scoreOf(model, often, end, true)).toEqual({ ...regular, ltv_predicted: null });
    expect(scoreOf({ ...model, ngr_per_deposit: undefined }, often, end, false).ltv_predicted).toBeNull();
  });

  it('takes revenue and deposits of any size, and none', () => {
    expect(ngrPerDeposit({ ngr: '-50', total_deposited: '200' })).toBe(-0.25);
    expect(ngrPerDeposit({ ngr: `${2n ** 70n}`, total_deposited: `${2n ** 71n}` })).toBe(0.5);
    expect(ngrPerDeposit({ ngr: '5', total_deposited: '0' })).toBeUndefined();
  });

  it('is off where plain recency is better', async () => {
    // Everybody comes each 31st day: who was here lately stays away for a month, which no such model can say.
    const players: DepositDays[] = Array.from({ length: 400 }, (_, i) => ({
      days: Array.from({ length: 14 }, (_, n) => (i % 31) + n * 31),
      amount: 1_400,
    }));
    const { status, fit } = await fitModel(players, 440, breathe);
    expect(fit.backtest?.brier).toBeGreaterThan(fit.backtest?.brier_recency ?? 1);
    expect(status).toBe('off');
  });

  it('ends when it is stopped', async () => {
    const stop = new Error('stop');
    const players = await readDepositDaysOfCdnow(dayOf('1998-06-30'));
    await expect(fitModel(players, dayOf('1998-06-30'), () => Promise.reject(stop))).rejects.toBe(stop);
  });
});
