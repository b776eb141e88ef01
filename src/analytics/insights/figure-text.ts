import { moneyText, type MoneyCatalogue } from '../../engage/templates/money.ts';
import { JsonText } from '../../platform/exact-json.ts';
import { decimalOf, fraction } from './alerts/rational.ts';
import type { Unit } from './chart.ts';
import type { Cell } from './kind.ts';

/** How amounts of a project are written. */
export interface Money {
  catalogue: MoneyCatalogue;
  currency: string;
}

/** A figure of a message, in English. A rate has its parts behind it, or is written as what it is when its unit is known. */
export function figureText(cell: Cell, unit: Unit | 'rate', money: Money): string {
  if (cell === null) return 'none';
  if (cell instanceof JsonText) return cell.text;
  if (typeof cell !== 'object') return unit === 'money' ? amountText(String(cell), money) : String(cell);
  const { numerator, denominator } = cell;
  const ratio = fraction(numerator, denominator);
  if (ratio === null) return 'none';
  switch (unit) {
    case 'share':
      return `${decimalOf({ ...ratio, numerator: ratio.numerator * 100n }, 2)} %`;
    case 'money':
      return amountText(decimalOf(ratio, 0), money);
    case 'rate':
      return `${decimalOf(ratio, 4)} (${numerator} ÷ ${denominator})`;
    case 'count':
    case 'number':
      return decimalOf(ratio, 2);
  }
}

function amountText(amount: string, { catalogue, currency }: Money): string {
  return moneyText({ catalogue, locale: 'en' }, amount, currency);
}
