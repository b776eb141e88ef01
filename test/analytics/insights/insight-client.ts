import { expect } from 'vitest';
import { call, type Answer } from '../../engines/http-client.ts';
import type { TestService, TestTenant } from '../../engines/service.ts';

/** A value of a figure; numbers beyond 53 bits are not in these tests. */
export type Cell = number | string | boolean | { numerator: number; denominator: number } | null;

/** The answer to a query of insights. */
export interface Insight {
  kind: string;
  currency: string;
  timezone: string;
  bonus_cost: string;
  as_of: string;
  is_stale: boolean;
  is_exact: boolean;
  error: number | null;
  restating_days: number;
  columns: { name: string; label: string; type: string; series: number | null; is_compared: boolean }[];
  rows: Cell[][];
  totals: Cell[][];
  other: Cell[][] | null;
}

type Caller = Pick<TestTenant, 'session_token'>;

/** Calls an endpoint of insights. */
export function insights(
  service: TestService,
  tenant: Caller,
  path: string,
  body: object,
  method = 'POST',
): Promise<Answer> {
  return call(`${service.base_url}/v1/insights${path}`, tenant.session_token, { method, body });
}

/** The answer to a query, which must succeed. */
export async function ask(service: TestService, tenant: Caller, query: object): Promise<Insight> {
  const { status, text, data } = await insights(service, tenant, '/query', query);
  expect(status, text).toBe(200);
  return data as unknown as Insight;
}

/** The values of a column, by its name, of rows that have one. */
export function column({ columns }: Insight, rows: readonly Cell[][] | null, name: string): Cell[] {
  const at = columns.findIndex((one) => one.name === name);
  expect(at, `the column ${name} in ${columns.map((one) => one.name).join(', ')}`).toBeGreaterThanOrEqual(0);
  return (rows ?? []).map((row) => row[at] ?? null);
}
