import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../src/package-root.ts';

/** One purchase of the CDNOW sample (scripts/data/README.md). */
export interface Purchase {
  /** Line of the file, from 1. */
  row: number;
  customer_id: string;
  /** YYYY-MM-DD */
  date: string;
  cds: number;
  amount_cents: number;
}

/** An event as the ingestion API takes it. */
export interface PurchaseEvent {
  event: 'deposit_confirmed';
  anonymous_id: string;
  timestamp: string;
  properties: Record<string, string | number>;
}

const LINE = /^ *(\d+) +(\d+) +(\d{4})(\d\d)(\d\d) +(\d+) +(\d+)\.(\d\d)$/;

/** The purchases of the sample, in the order of the file. Throws when a line does not have the documented columns. */
export async function readPurchases(): Promise<Purchase[]> {
  const text = await readFile(join(packageRoot, 'scripts', 'data', 'cdnow_sample.txt'), 'utf8');
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line, i) => parsePurchase(line, i + 1));
}

/** Reads one line. Dollars are converted to cents by their digits, never by floating-point arithmetic. */
export function parsePurchase(line: string, row: number): Purchase {
  const match = LINE.exec(line);
  if (match === null) throw new Error(`line ${row} is not a purchase: ${line}`);
  const [, customer_id = '', , year, month, day, cds, dollars, cents] = match;
  return {
    row,
    customer_id,
    date: `${year}-${month}-${day}`,
    cds: Number(cds),
    amount_cents: Number(`${dollars}${cents}`),
  };
}

/** The deposit event of a purchase. The same line always gives the same transaction_id. */
export function toEvent(purchase: Purchase): PurchaseEvent {
  return {
    event: 'deposit_confirmed',
    anonymous_id: `cdnow-${purchase.customer_id}`,
    timestamp: `${purchase.date}T12:00:00Z`,
    properties: {
      amount: purchase.amount_cents,
      currency: 'USD',
      transaction_id: `cdnow-row-${purchase.row}`,
      payment_method: 'card',
      cds: purchase.cds,
    },
  };
}
