import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonMomentMs } from '../../../../src/segments/language/json-moment.ts';
import { contextValue, matches, matchesContext } from '../../../../src/engage/journeys/graph/where.ts';
import { openTestClickHouse } from '../../../engines/wiring.ts';
import type { ClickHouse } from '../../../../src/platform/clickhouse/port.ts';
import { readComparison } from '../../../../src/segments/language/comparison.ts';
import type { WhereClause } from '../../../../src/segments/language/conditions.ts';
import { Bindings } from '../../../../src/segments/sql/bindings.ts';
import { EventScan } from '../../../../src/segments/sql/event-scan.ts';
import { jsonComparisonSql, jsonDate } from '../../../../src/segments/sql/json-sql.ts';
import { runs } from '../../../engines/effort.ts';
import { isoTime, json, KEYS, money, NOW_MS, ofJson, ofMoney } from '../../../segments/arbitraries.ts';

const noAmount = () => undefined;

/** One statement compares so many filters on so many objects. */
const FILTERS = 40;
const OBJECTS = 250;
const STATEMENTS = runs(12);

let clickhouse: ClickHouse;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-where-'));
  clickhouse = await openTestClickHouse(dir);
});
afterAll(async () => {
  await clickhouse?.close();
  await rm(dir, { recursive: true, force: true });
});

interface WrittenClause {
  property: string;
  op: string;
  value?: unknown;
}

function read({ property, ...written }: WrittenClause): WhereClause {
  const kind = property === 'amount' || property === 'payout' ? 'number' : 'json';
  const comparison = readComparison({ kind }, written);
  if ('key' in comparison) throw new Error(`${JSON.stringify(written)}: ${comparison.message}`);
  return { property, comparison };
}

/** Texts of the form of a date or a time, of which half name no moment or an unusual one. */
const strangeTime = fc
  .tuple(
    fc.constantFrom('2026', '2024', '1900', '2100', '1969', '0001', '9998', '0000', '2299'),
    fc.constantFrom('01', '02', '04', '05', '12', '00', '13'),
    fc.constantFrom('01', '15', '28', '29', '30', '31', '32', '00'),
    fc.constantFrom(
      '',
      'T12:00',
      'T12:00:00',
      'T24:00:00',
      'T23:59:60',
      'T99:99:99',
      'T11:59:59.9999',
      'T12:00:00,5',
    ),
    fc.constantFrom('', 'Z', '+00:00', '-12:30', '+99:99', '+0200', 'z'),
  )
  .map(([year, month, day, time, offset]) => `${year}-${month}-${day}${time}${offset}`);
const value = fc.oneof(
  { weight: 4, arbitrary: json },
  { weight: 1, arbitrary: fc.oneof(isoTime, strangeTime) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      2 ** 53,
      2 ** 62,
      -(2 ** 62),
      1e21,
      5e-324,
      -0.5,
      'x"y\\',
      '😀',
      ' ',
      [[1], null],
      [{ a: 1 }, 'slots'],
      { a: { a: 1 } },
    ),
  },
);
/** Keys that are paths, inherited names and elements of lists elsewhere. */
const key = fc.constantFrom(...KEYS, '__proto__', 'constructor', 'length', '0', 'a');
const object = fc
  .tuple(
    fc.array(fc.tuple(key, value), { maxLength: 6 }),
    fc.record({ amount: money, payout: money }, { requiredKeys: [] }),
  )
  // Object.fromEntries defines `__proto__` as a key of its own, as JSON.parse does.
  .map(([entries, amounts]) => Object.fromEntries([...entries, ...Object.entries(amounts)]));
const clause = fc
  .oneof(
    { weight: 5, arbitrary: fc.tuple(key, ofJson) },
    { weight: 2, arbitrary: fc.tuple(fc.constantFrom('amount', 'payout'), ofMoney) },
  )
  .map(([property, comparison]) => ({ property, ...comparison }));
const filter = fc.array(clause, { maxLength: 3 });

/** For each text of `objects` the results of the conditions, in order. */
async function ask(conditions: readonly string[], bindings: Bindings, objects: readonly string[]) {
  const columns = ['amount', 'payout'].map(
    (name) => `if(JSONType(r, '${name}') = 'Int64', JSONExtractInt(r, '${name}'), null) as base_${name}`,
  );
  const results = conditions.map((condition) => `toUInt8(${condition})`).join(', ');
  const rows = await clickhouse.query<{ results: number[] }>(
    `select [${results}] as results from (select n, r, r as properties, ${columns.join(', ')}
       from (select n, {objects:Array(String)}[n] as r from (select arrayJoin(range(1, ${objects.length + 1})) as n)))
     order by n`,
    { ...bindings.params, now_ms: NOW_MS, objects },
  );
  expect(rows).toHaveLength(objects.length);
  return rows.map(({ results }) => results.map((result) => result === 1));
}

describe('a filter means what the compiled SQL means', () => {
  it('on properties of events', async () => {
    let [held, asked] = [0, 0];
    const draws = fc.tuple(
      fc.array(filter, { minLength: FILTERS, maxLength: FILTERS }),
      fc.array(object, { minLength: OBJECTS, maxLength: OBJECTS }),
    );
    const property = fc.asyncProperty(draws, async ([written, objects]) => {
      const wheres = written.map((one) => one.map(read));
      const bindings = new Bindings();
      const scan = new EventScan([], bindings, { of_players: true, of_presence: false });
      const window = { kind: 'always' } as const;
      const conditions = wheres.map((where) => scan.whereSql({ event: 'login', window, where }) || '1');
      const answers = await ask(
        conditions,
        bindings,
        objects.map((one) => JSON.stringify(one)),
      );
      for (const [n, results] of answers.entries()) {
        const properties: unknown = JSON.parse(JSON.stringify(objects[n]));
        for (const [i, result] of results.entries()) {
          const verdict = matches(wheres[i] ?? [], properties, NOW_MS);
          if (verdict !== result)
            expect({ where: written[i], properties, verdict }).toEqual({ verdict: result });
          asked++;
          if (result) held++;
        }
      }
    });
    await fc.assert(property, { numRuns: STATEMENTS, endOnFailure: true });
    // Neither answer is rare, or the comparison would show little.
    expect(asked).toBe(STATEMENTS * FILTERS * OBJECTS);
    expect(held / asked).toBeGreaterThan(0.15);
    expect(held / asked).toBeLessThan(0.85);
  });

  it('on paths in a context', async () => {
    const dotless = key.filter((name) => !name.includes('.'));
    const nested = fc.dictionary(dotless, fc.oneof(value, fc.dictionary(dotless, value, { maxKeys: 4 })), {
      maxKeys: 4,
    });
    const context = fc.record(
      { trigger_payload: fc.oneof(nested, value), other: nested },
      { requiredKeys: [] },
    );
    const path = fc
      .tuple(fc.constantFrom('trigger_payload', 'other'), dotless, fc.option(dotless))
      .map((keys) => keys.filter((one) => one !== null));
    const draws = fc.tuple(
      fc.array(fc.tuple(path, ofJson), { minLength: FILTERS, maxLength: FILTERS }),
      fc.array(context, { minLength: OBJECTS, maxLength: OBJECTS }),
    );
    const property = fc.asyncProperty(draws, async ([written, contexts]) => {
      const wheres = written.map(([keys, comparison]) => [read({ property: keys.join('.'), ...comparison })]);
      const bindings = new Bindings();
      const conditions = wheres.map(([only], i) => {
        const keys = written[i]?.[0] ?? [];
        const parents = keys.slice(0, -1).map((one) => bindings.bind('String', one));
        const value = { column: `JSONExtractRaw(r, ${parents.join(', ')})`, key: keys.at(-1) ?? '' };
        return only === undefined ? '0' : jsonComparisonSql(value, only.comparison, bindings);
      });
      const answers = await ask(
        conditions,
        bindings,
        contexts.map((one) => JSON.stringify(one)),
      );
      for (const [n, results] of answers.entries()) {
        const context: unknown = JSON.parse(JSON.stringify(contexts[n]));
        for (const [i, result] of results.entries()) {
          const verdict = matchesContext(wheres[i] ?? [], context, noAmount, NOW_MS);
          if (verdict !== result)
            expect({ where: written[i], context, verdict }).toEqual({ verdict: result });
        }
      }
    });
    await fc.assert(property, { numRuns: runs(4), endOnFailure: true });
  });
});

it('a text names the moment that ClickHouse reads in it', async () => {
  const texts = fc.sample(
    fc.oneof(
      strangeTime,
      isoTime,
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    ),
    // All of them are a parameter of one statement.
    { numRuns: runs(5_000, { nightly: 5_000 }) },
  );
  const bindings = new Bindings();
  const moment = jsonDate({ column: 'object', key: 'at' }, bindings);
  const rows = await clickhouse.query<{ text: string; at_ms: string | null }>(
    `select text, toUnixTimestamp64Milli(${moment}) as at_ms
     from (select text, concat('{"at":', toJSONString(text), '}') as object from (select arrayJoin({texts:Array(String)}) as text))`,
    { ...bindings.params, texts },
  );
  expect(rows).toHaveLength(texts.length);
  const differing = rows.filter(
    ({ text, at_ms }) => jsonMomentMs(text) !== (at_ms === null ? undefined : Number(at_ms)),
  );
  expect(
    differing.map(({ text, at_ms }) => ({ text, at_ms, read: jsonMomentMs(text) })).slice(0, 20),
  ).toEqual([]);
  expect(rows.filter(({ at_ms }) => at_ms !== null).length).toBeGreaterThan(texts.length / 5);
});

describe('a filter', () => {
  const where = (clause: WrittenClause) => [read(clause)];

  it('holds for everything when it is empty', () => {
    expect(matches([], undefined, NOW_MS)).toBe(true);
    expect(matches([], { a: 1 }, NOW_MS)).toBe(true);
  });

  it.each([[undefined], [null], ['text'], [12], [['a']], [new Map([['a', 1]])]])(
    'finds no property in %j, so that negated comparisons hold',
    (properties) => {
      for (const property of ['a', '0', 'length', 'size', '__proto__']) {
        expect(matches(where({ property, op: 'exists' }), properties, NOW_MS)).toBe(false);
        expect(matches(where({ property, op: 'neq', value: 1 }), properties, NOW_MS)).toBe(true);
      }
    },
  );

  it('takes a property for a key, and a path in a context for keys', () => {
    const object = { 'a.b': 1, a: { b: 2 } };
    expect(matches(where({ property: 'a.b', op: 'eq', value: 1 }), object, NOW_MS)).toBe(true);
    expect(matchesContext(where({ property: 'a.b', op: 'eq', value: 2 }), object, noAmount, NOW_MS)).toBe(
      true,
    );
  });

  it('reads own keys only', () => {
    for (const path of [
      ['__proto__'],
      ['constructor', 'name'],
      ['toString'],
      ['a', '__proto__', 'x'],
      ['list', '0'],
      ['list', 'length'],
      ['text', 'length'],
    ]) {
      expect(contextValue({ a: {}, list: [1], text: 'x' }, path)).toBeUndefined();
    }
    expect(contextValue(JSON.parse('{"__proto__":{"x":5}}'), ['__proto__', 'x'])).toBe(5);
    expect(contextValue({ a: { b: { c: null } } }, ['a', 'b', 'c'])).toBeNull();
    expect(contextValue({ a: 1 }, [])).toEqual({ a: 1 });
  });
});
