import { isAlwaysInLedger } from '../../ledger/money/ledger.ts';
import { MONEY_PROPERTIES, type MoneyProperty } from '../language/fields.ts';
import type { Bindings } from './bindings.ts';
import { DECIMAL_SCALE, type Operand } from './comparison-sql.ts';
import { hasText, jsonAmount } from './json-sql.ts';

/**
 * An amount of an event, null where there is none: money in the smallest unit of the base currency, or, on an event that
 * is not in the ledger and names no currency, the number as it was sent.
 */
export function moneyOperand(
  event: string,
  property: MoneyProperty,
  bindings: Bindings,
): Extract<Operand, { kind: 'number' }> {
  const base = MONEY_PROPERTIES[property];
  if (isAlwaysInLedger(event, property)) {
    return { kind: 'number', held_as: 'integer', sql: base, nullable: true };
  }
  const sent = jsonAmount({ column: 'properties', key: property }, bindings);
  const is_money = hasText({ column: 'properties', key: 'currency' }, bindings);
  const sql = `coalesce(toDecimal256(${base}, ${DECIMAL_SCALE}), if(${is_money}, null, ${sent}))`;
  return { kind: 'number', held_as: 'decimal', sql, nullable: true };
}
