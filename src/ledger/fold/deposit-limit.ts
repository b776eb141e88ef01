import type { DepositLimit } from '../../protection/limits/limit-queries.ts';
import { amountOf } from '../money/ledger.ts';

const MAX_PERIOD_LENGTH = 32;
const MAX_CURRENCY_LENGTH = 16;

/**
 * The limit that an event sets, at the time `at_ms`; undefined for other events, and for one without an amount: its
 * properties are free, and nothing is known of such a limit.
 */
export function depositLimitOf(
  event: string,
  properties: Readonly<Record<string, unknown>>,
  at_ms: number,
): DepositLimit | undefined {
  if (event !== 'deposit_limit_set') return undefined;
  const amount = amountOf(properties['amount']);
  if (amount === undefined) return undefined;
  const period = nameOf(properties['period'], MAX_PERIOD_LENGTH);
  return { at_ms, amount, period, currency: nameOf(properties['currency'], MAX_CURRENCY_LENGTH) };
}

function nameOf(value: unknown, most: number): string {
  return typeof value === 'string' && value.length <= most ? value : '';
}
