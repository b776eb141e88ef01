import { expect, it } from 'vitest';
import { exactJson, parseExact } from '../../src/platform/exact-json.ts';

it('exact JSON takes time in proportion to hostile texts', () => {
  const size = 1_000_000;
  const texts = [
    `[${'9'.repeat(size)}]`,
    `[0.${'0'.repeat(size)}1]`,
    `{"a":"${',-1.'.repeat(size / 4)}"}`,
    `["${'" :    '.replaceAll('"', '\\"').repeat(size / 8)}"]`,
    `[${'1.0000000000000000'.repeat(1)}${'0'.repeat(size)}1e-5]`,
  ];
  for (const text of texts) {
    const started = performance.now();
    const value = parseExact(text);
    exactJson(value);
    expect(performance.now() - started, text.slice(0, 20)).toBeLessThan(1_000);
  }
});
