import { chanceOfReturn, fitPurchases, type PurchaseParameters } from '../models/purchases.ts';
import { fitSpending, type SpendingParameters } from '../models/spending.ts';
import type { ModelStatus } from '../model-queries.ts';
import type { ModelFit } from '../schema.ts';
import { aucOf, brierOf, calibrationOf, type Prediction } from './accuracy.ts';
import type { DepositDays } from './deposit-queries.ts';
import { countHistories, historyAt, returnsWithin, weeksOf } from './histories.ts';
import { daysSince, recencyRates } from './recency.ts';

/** `churn_score` is about so many days. */
export const RETURN_DAYS = 30;
const DAY_MS = 86_400_000;
const WINDOWS = 6;
/** With fewer players, or fewer who came back, nothing is fitted. */
export const MIN_PLAYERS = 200;
const MIN_REPEATERS = 50;

/** What the nightly fit of a project has found. */
export interface Fitted {
  status: ModelStatus;
  purchases: PurchaseParameters | undefined;
  spending: SpendingParameters | undefined;
  fit: Omit<ModelFit, 'players' | 'sampled'>;
}

/** A window of the backtest with its predictions, by the model and by plain recency. */
interface Window {
  from_day: number;
  to_day: number;
  by_model: Prediction[];
  by_recency: Prediction[];
}

/**
 * Fits MBG/NBD and Gamma-Gamma to players with their deposit-days up to and including `day`, and compares the model with plain
 * recency in the last windows of 30 days: parameters and rates of each window are of the days before it alone. `breathe` is
 * called between the steps, so that the work blocks nobody, and may reject.
 */
export async function fitModel(
  players: readonly DepositDays[],
  day: number,
  breathe: () => Promise<void>,
): Promise<Fitted> {
  const waiting: Fitted = {
    status: 'waiting',
    purchases: undefined,
    spending: undefined,
    fit: { parameters: null, backtest: null, calibration: [] },
  };
  const days = players.map((player) => player.days);
  const purchases = await fitAt(days, day, breathe);
  if (purchases === undefined) return waiting;
  const amounts = players.map((player) => ({
    days: player.days.length,
    mean: player.amount / player.days.length,
  }));
  const spending = await fitSpending(amounts, { breathe });
  const windows = await backtest(days, day, purchases, breathe);
  const parameters = rounded({ ...purchases, ...spending });
  if (windows.length === 0) return { ...waiting, fit: { ...waiting.fit, parameters } };
  const by_model = windows.flatMap((window) => window.by_model);
  const by_recency = windows.flatMap((window) => window.by_recency);
  const total = accuracyOf({ by_model, by_recency });
  const shown = windows.map((window) => ({
    from: dayStart(window.from_day),
    to: dayStart(window.to_day + 1),
    ...rounded(accuracyOf(window)),
  }));
  const calibration = calibrationOf(by_model).map((bin) => rounded(bin));
  return {
    status: total.brier > total.brier_recency ? 'off' : 'on',
    purchases,
    spending,
    fit: { parameters, backtest: { ...rounded(total), windows: shown }, calibration },
  };
}

/** The parameters by what was known at the end of a day; undefined: too little was. */
async function fitAt(
  players: readonly (readonly number[])[],
  day: number,
  breathe: () => Promise<void>,
  start?: PurchaseParameters,
): Promise<PurchaseParameters | undefined> {
  const histories = players.flatMap((days) => historyAt(days, day) ?? []);
  const repeaters = histories.filter(({ repeats }) => repeats > 0).length;
  if (histories.length < MIN_PLAYERS || repeaters < MIN_REPEATERS) return undefined;
  const options = start === undefined ? { breathe } : { breathe, start };
  return (await fitPurchases('mbg', countHistories(histories), options)).parameters;
}

async function backtest(
  players: readonly (readonly number[])[],
  day: number,
  latest: PurchaseParameters,
  breathe: () => Promise<void>,
): Promise<Window[]> {
  const windows: Window[] = [];
  let start = latest;
  for (let n = 1; n <= WINDOWS; n++) {
    const origin = day - n * RETURN_DAYS;
    const learned = players.filter(([first = Infinity]) => first <= origin - RETURN_DAYS).length;
    const parameters = learned < MIN_PLAYERS ? undefined : await fitAt(players, origin, breathe, start);
    if (parameters === undefined) break;
    start = parameters;
    windows.push(predict(players, origin, parameters));
  }
  return windows;
}

function predict(
  players: readonly (readonly number[])[],
  origin: number,
  parameters: PurchaseParameters,
): Window {
  const rates = recencyRates(players, origin - RETURN_DAYS, RETURN_DAYS);
  const by_model: Prediction[] = [];
  const by_recency: Prediction[] = [];
  for (const days of players) {
    const history = historyAt(days, origin);
    const since = daysSince(days, origin);
    if (history === undefined || since === undefined) continue;
    const has_returned = returnsWithin(days, origin, RETURN_DAYS);
    by_model.push({
      chance: chanceOfReturn('mbg', parameters, history, weeksOf(RETURN_DAYS)),
      has_returned,
    });
    by_recency.push({ chance: rates(since), has_returned });
  }
  return { from_day: origin + 1, to_day: origin + RETURN_DAYS, by_model, by_recency };
}

function accuracyOf({ by_model, by_recency }: Pick<Window, 'by_model' | 'by_recency'>) {
  return {
    players: by_model.length,
    returned: by_model.filter(({ has_returned }) => has_returned).length,
    brier: brierOf(by_model),
    brier_recency: brierOf(by_recency),
    auc: aucOf(by_model),
    auc_recency: aucOf(by_recency),
  };
}

/** The ISO time at which a day begins. */
function dayStart(day: number): string {
  return new Date(day * DAY_MS).toISOString();
}

const SHOWN_DIGITS = 8;

/** The numbers as they are shown. */
function rounded<T extends object>(numbers: T): T {
  const entries = Object.entries(numbers as Record<string, number | null>).map(([name, value]) => [
    name,
    value === null || Number.isInteger(value) ? value : Number(value.toPrecision(SHOWN_DIGITS)),
  ]);
  return Object.fromEntries(entries) as T;
}
