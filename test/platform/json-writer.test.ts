import { assert, bigInt, json, jsonValue, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonDigits, JsonText, writeJson } from '../../src/platform/json-writer.ts';
import { runs } from '../engines/effort.ts';

describe('the writer of JSON', () => {
  it('writes what JSON.stringify writes', () => {
    assert(
      property(jsonValue(), (value) => {
        expect(writeJson(value)).toBe(JSON.stringify(value));
      }),
      { numRuns: runs(500) },
    );
    const others = { a: undefined, b: [undefined, null], c: new Date(0), d: Number.NaN };
    expect(writeJson(others)).toBe(JSON.stringify(others));
  });

  it('writes bigints to the last digit, and text as it is', () => {
    assert(
      property(bigInt(), json(), (whole, text) => {
        expect(writeJson({ '$&': [whole], text: new JsonText(text), none: jsonDigits(null) })).toBe(
          `{"$&":[${whole}],"text":${text},"none":null}`,
        );
      }),
      { numRuns: runs(500) },
    );
  });
});
