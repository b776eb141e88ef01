import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { plainArray, textArray } from '../../../src/platform/postgres/arrays.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import { openTestPostgres } from '../../engines/wiring.ts';
import { runs } from '../../engines/effort.ts';

let server: Awaited<ReturnType<typeof openTestPostgres>>;
let sql: Db;
beforeAll(async () => {
  server = await openTestPostgres();
  sql = connectPool(server.url);
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await server.close();
});

const parameters = { numRuns: runs(500) };

/** Text pieces with a meaning in array literals, in SQL or in escapes, and texts of any script. */
const hostile = fc.oneof(
  fc
    .array(
      fc.constantFrom(
        '"',
        '\\',
        '{',
        '}',
        ',',
        "'",
        ' ',
        '\n',
        '\t',
        '\r',
        'NULL',
        'null',
        '--',
        '$1',
        ';',
        '\\"',
        '\u2028',
      ),
    )
    .map((pieces) => pieces.join('')),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
);

it('lists of texts pass through Postgres unchanged, whatever they contain', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(hostile, { freq: 10 }), { maxLength: 30 }), async (texts) => {
      const rows = await sql<{ text: string | null }[]>`
        select text from unnest(${textArray(texts)}::text::text[]) with ordinality as r (text, place) order by place`;
      expect(rows.map(({ text }) => text)).toEqual(texts);
    }),
    parameters,
  );
});

it('arrays of texts pass through Postgres unchanged, in both directions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(hostile, { freq: 10 }), { maxLength: 30 }), async (texts) => {
      const [row] = await sql<{ texts: (string | null)[] }[]>`select ${sql.types.texts(texts)} as texts`;
      expect(row?.texts).toEqual(texts);
    }),
    parameters,
  );
});

it('lists of integers pass through Postgres unchanged, to the last digit', async () => {
  const integers = fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { freq: 10 });
  await fc.assert(
    fc.asyncProperty(fc.array(integers, { maxLength: 30 }), async (values) => {
      const rows = await sql<{ value: bigint | null }[]>`
        select value from unnest(${plainArray(values)}::text::bigint[]) with ordinality as r (value, place) order by place`;
      expect(rows.map(({ value }) => value)).toEqual(values);
    }),
    parameters,
  );
});
