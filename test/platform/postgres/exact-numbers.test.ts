import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exactJson, parseExact, storedBytes } from '../../../src/platform/exact-json.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import { runs } from '../../engines/effort.ts';
import type { TestPostgres } from '../../engines/shared-postgres.ts';
import { openTestPostgres } from '../../engines/wiring.ts';
import { jsonNumber } from '../json-numbers.ts';

// What Postgres makes of numbers that are on the log already, or come from callers.

let server: TestPostgres;
let owner: Db;
beforeAll(async () => {
  server = await openTestPostgres({ prepared: true });
  owner = connectPool(server.url);
});
afterAll(async () => {
  await owner?.end({ timeout: 5 });
  await server?.close();
});

const stored = async (text: string) => {
  const [row] = await owner<{ text: string }[]>`
    select (${exactJson(parseExact(text))}::text::jsonb)::text as text`;
  return row?.text ?? '';
};

it('a number takes no more room than is reckoned with', async () => {
  const hostile = ['1e-16383', '1e-20000', `0.${'1'.repeat(16_384)}`, '1e300', '5e-324', '-1.7e-307', '1e16'];
  for (const number of hostile) {
    const text = await stored(`[${number}]`);
    expect(text.length, number).toBe(storedBytes(parseExact(`[${number}]`)));
    expect(text.length).toBeLessThan(403);
  }
  const property = fc.asyncProperty(
    fc.array(jsonNumber, { minLength: 1, maxLength: 50 }),
    async (numbers) => {
      const json = `[${numbers.join()}]`;
      const { length } = (await stored(json)).replaceAll(' ', '');
      expect(length).toBeLessThanOrEqual(storedBytes(parseExact(json)));
    },
  );
  await fc.assert(property, { numRuns: runs(100) });
});

it('2,000 tiny numbers are as many zeros', async () => {
  expect((await stored(`{"l":[${Array(1_990).fill('1e-16383').join(',')}]}`)).length).toBeLessThan(10_000);
});
