import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  comparable,
  exactJson,
  ExactNumber,
  growthOf,
  hasExactNumbers,
  jsonDigits,
  JsonText,
  parseExact,
  problemOf,
  storedBytes,
} from '../../src/platform/exact-json.ts';
import { runs } from '../engines/effort.ts';
import { decimalOf, jsonNumber } from './json-numbers.ts';

describe('exact JSON', () => {
  it.each([
    ['9007199254740991', 9_007_199_254_740_991],
    ['-9007199254740991', -9_007_199_254_740_991],
    ['1.5', 1.5],
    ['1.50', 1.5],
    ['1E5', 100_000],
    ['0.30000000000000004', 0.1 + 0.2],
    ['5e-324', 5e-324],
    ['1e400', Infinity],
    ['123e9999', Infinity],
    // As JSON.parse reads them.
    ['1e-400', 0],
    ['1e-16383', 0],
    [`0.${'0'.repeat(20_000)}1`, 0],
    [`1.5${'0'.repeat(20_000)}`, 1.5],
    ['9e15', 9e15],
    ['1e-250', 1e-250],
    ['1.7976931348623157e-300', 1.797_693_134_862_315_7e-300],
    ['2.2250738585072014E-308', 2.225_073_858_507_201_4e-308],
  ])('reads %s as a number', (text, value) => {
    expect(parseExact(`{"a":[${text}]}`)).toEqual({ a: [value] });
  });

  it.each([
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740993', '-9007199254740993'],
    ['25000000000000000000', '25000000000000000000'],
    ['25000000000000000000e+00', '25000000000000000000'],
    ['9007199254740993.0', '9007199254740993'],
    ['1e20', '1e20'],
    ['1e300', '1e300'],
    ['9.5e15', '9.5e15'],
    ['0.00012345678901234567890', '0.00012345678901234567890'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['1.00000000000000000001', '1.00000000000000000001'],
  ])('keeps %s', (text, kept) => {
    for (const json of [`{"a":${text}}`, `[${text}]`, `{"a" :\n ${text} , "b":[1,\t${text}]}`]) {
      expect(hasExactNumbers(json)).toBe(true);
      expect(exactJson(parseExact(json))).toBe(json.replace(/\s/g, '').replaceAll(text, kept));
    }
  });

  it('reads everything else as JSON.parse does', () => {
    const wide = '"wei":25000000000000000000';
    expect(parseExact(`{"a":1,"a":2,${wide},"a":3}`)).toMatchObject({ a: 3 });
    expect(Object.keys(parseExact(`{"__proto__":{"x":1},${wide}}`) as object)).toEqual(['__proto__', 'wei']);
    expect(parseExact(String.raw`{"t":"\u0041 9007199254740993, 1e20 \"",${wide}}`)).toMatchObject({
      t: 'A 9007199254740993, 1e20 "',
    });
    expect(() => parseExact(`{${wide},}`)).toThrow(SyntaxError);
    expect(() => parseExact(`${'['.repeat(200_000)}25000000000000000000${']'.repeat(200_000)}`)).toThrow(
      SyntaxError,
    );
  });

  it('reads numbers between everything that JSON has', () => {
    const text =
      '{"a\\"\\\\":[ ],"b":{ },"c":[true,false,null,-1.5e3,1e20, "\\\\"],"":{"d":[[{}],1e20]},"\\u00e9":"\\\""}';
    const plain = text.replaceAll('1e20', '7');
    expect(exactJson(parseExact(text))).toBe(JSON.stringify(JSON.parse(plain)).replaceAll('7', '1e20'));
    fc.assert(
      fc.property(fc.json(), (json) => {
        const list = parseExact(`[${json},1e20]`) as unknown[];
        expect(JSON.stringify(list[0])).toBe(JSON.stringify(JSON.parse(json)));
        expect(String(list[1])).toBe('1e20');
      }),
      { numRuns: runs(1_000) },
    );
  });

  it('of a number of more than 400 digits the nearest double is left', () => {
    const ones = (digits: number) => `0.${'1'.repeat(digits)}`;
    for (const text of [ones(16_384), ones(399), `1.${'1'.repeat(99)}e-300`]) {
      const [number] = parseExact(`[${text}]`) as [ExactNumber];
      expect(problemOf(number)).toBe('is a number of more than 400 digits');
      expect(exactJson([number])).toBe(JSON.stringify([Number(text)]));
    }
    for (const text of [ones(398), '1e300', `1.${'1'.repeat(97)}e-300`]) {
      const [number] = parseExact(`[${text}]`) as [ExactNumber];
      expect([problemOf(number), exactJson([number])]).toEqual([undefined, `[${text}]`]);
    }
    expect(problemOf(Infinity)).toBe('is a number beyond the range of a double');
    expect(problemOf(5e-324)).toBeUndefined();
  });

  it.each([
    ['[1,0.5,123456789012345678901234567890,"1e300"]', 0],
    ['{"a":[1e300,-1e300],"b":1e-300}', 296 + 296 + 296],
    ['[2.5e-3,1e-7,1e21,1.25E+21]', 5 + 18 + 14],
  ])('knows by how much %s grows in Postgres', (text, growth) => {
    const value = parseExact(text);
    expect(growthOf(value)).toBe(growth);
    expect(storedBytes(value)).toBe(exactJson(value).length + growth);
  });

  it('is not parsed twice for digits inside of texts', () => {
    expect(hasExactNumbers('{"note":"see 9007199254740993"}')).toBe(false);
    expect(parseExact('{"note":"see 9007199254740993"}')).toEqual({ note: 'see 9007199254740993' });
    expect(
      hasExactNumbers('{"at":"2026-01-31T12:00:00.000Z","id":"4e5f0a52-5a0d-4b7e-9d3a-111111111111"}'),
    ).toBe(false);
  });

  it('writes bigints, and rounds in JSON.stringify alone', () => {
    expect(exactJson({ a: 2n ** 64n, b: [1n], c: new Date(0) })).toBe(
      '{"a":18446744073709551616,"b":[1],"c":"1970-01-01T00:00:00.000Z"}',
    );
    expect(JSON.stringify({ a: new ExactNumber('9007199254740993') })).toBe('{"a":9007199254740992}');
    expect(exactJson({ a: 1 })).toBe('{"a":1}');
  });

  it('compares integers by their digits, and other numbers as doubles', () => {
    const read = (text: string) => comparable((parseExact(`[${text}]`) as unknown[])[0]);
    expect(read('9007199254740993')).toBe(9_007_199_254_740_993n);
    expect(read('1e23')).toBe(10n ** 23n);
    expect(read('100000000000000000000000')).toBe(10n ** 23n);
    expect(read('9007199254740995.5')).toBe(9_007_199_254_740_996n);
    expect(read('0.1234567890123456789')).toBe(0.123_456_789_012_345_68);
    expect(read('7')).toBe(7);
  });

  it('keeps the value of every number', () => {
    fc.assert(
      fc.property(fc.array(jsonNumber, { minLength: 1, maxLength: 8 }), (texts) => {
        const written = exactJson(parseExact(`{"list":[${texts.join(', ')}],"deep":{"n":${texts[0]}}}`));
        const seen = /\[(.*)\],"deep":\{"n":(.*)\}\}$/.exec(written);
        expect(seen?.[1]?.split(',').map(decimalOf)).toEqual(texts.map(decimalOf));
        expect(decimalOf(seen?.[2] ?? '')).toBe(decimalOf(texts[0] ?? ''));
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('writes what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(exactJson(value)).toBe(JSON.stringify(value));
      }),
      { numRuns: runs(500) },
    );
    const others = { a: undefined, b: [undefined, null], c: new Date(0), d: Number.NaN };
    expect(exactJson(others)).toBe(JSON.stringify(others));
  });

  it('writes bigints to the last digit, and text as it is', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.json(), (whole, text) => {
        expect(exactJson({ '$&': [whole], text: new JsonText(text), none: jsonDigits(null) })).toBe(
          `{"$&":[${whole}],"text":${text},"none":null}`,
        );
      }),
      { numRuns: runs(500) },
    );
  });

  it('writes what JSON.stringify writes, with bigints in it, too', () => {
    const others = [undefined, null, new Date(0), Number.NaN, -0, { a: undefined, b: [() => 1], '"': '"' }];
    expect(exactJson([others, 2n])).toBe(`[${JSON.stringify(others)},2]`);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(exactJson([value, 2n])).toBe(`[${JSON.stringify(value)},2]`);
      }),
      { numRuns: runs(500) },
    );
  });
});
