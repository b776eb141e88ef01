import { readPurchases } from '../../../scripts/cdnow.ts';
import type { DepositDays } from '../../../src/players/scores/nightly/deposit-queries.ts';

const DAY_MS = 86_400_000;

/** A day as its number from 1970-01-01. */
export function dayOf(date: string): number {
  return Date.parse(date) / DAY_MS;
}

/** The customers of the CDNOW sample with the days of their purchases, and what they paid on each in cents. */
export async function readCustomers(): Promise<Map<string, Map<number, number>>> {
  const customers = new Map<string, Map<number, number>>();
  for (const { customer_id, date, amount_cents } of await readPurchases()) {
    const days = customers.get(customer_id) ?? new Map<number, number>();
    customers.set(customer_id, days);
    days.set(dayOf(date), (days.get(dayOf(date)) ?? 0) + amount_cents);
  }
  return customers;
}

/** The same as the nightly fit reads it, up to a day: without those who paid nothing. */
export async function readDepositDaysOfCdnow(until_day: number): Promise<DepositDays[]> {
  return [...(await readCustomers()).values()].flatMap((by_day) => {
    const paid = [...by_day].filter(([day, cents]) => day <= until_day && cents > 0);
    const days = paid.map(([day]) => day).sort((a, b) => a - b);
    return days.length === 0 ? [] : [{ days, amount: paid.reduce((sum, [, cents]) => sum + cents, 0) }];
  });
}
