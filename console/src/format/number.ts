import type { Int } from '../api/json.ts';
import { LOCALE } from './locale.ts';

const integers = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const percents = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 });
const shorts = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 });

/** A whole number with all its digits, grouped. */
export function formatInt(value: Int): string {
  return integers.format(value);
}

/** A number for the axis of a plot: `1.2K`. */
export function formatShort(value: number): string {
  return shorts.format(value);
}

/** A share of 0 to 1. */
export function formatPercent(share: number): string {
  return percents.format(share);
}

const points = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1, signDisplay: 'exceptZero' });

/** A difference of two shares of 0 to 1 in percentage points, with its sign: `+2.5`. */
export function formatPoints(difference: number): string {
  return points.format(difference * 100);
}

/** The change from `before` to `now` as a signed percentage; undefined when there was nothing before. */
export function changeOf(now: Int, before: Int): number | undefined {
  const base = Number(before);
  return base === 0 ? undefined : (Number(now) - base) / Math.abs(base);
}
