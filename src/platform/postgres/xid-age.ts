import type { Tx } from './port.ts';

/**
 * How many transaction ids ago the oldest row of any database of the server was frozen. At two thousand millions Postgres
 * takes no more writes.
 */
export async function readXidAge(tx: Tx): Promise<number> {
  const [row] = await tx<{ age: number }[]>`
    select max(age(datfrozenxid))::float8 as age from pg_database`;
  return row?.age ?? 0;
}
