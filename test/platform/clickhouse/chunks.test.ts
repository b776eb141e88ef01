import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { chunksOf } from '../../../src/platform/clickhouse/chunks.ts';

it('keeps lines in order and chunks within the limit, with as few chunks as possible', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 30 })), fc.integer({ min: 1, max: 100 }), (lines, max) => {
      const chunks = [...chunksOf(lines, max)];
      const chars = (chunk: string[]) => chunk.reduce((sum, line) => sum + line.length + 1, 0);
      expect(chunks.flat()).toEqual(lines);
      for (const [index, chunk] of chunks.entries()) {
        expect(chunk.length).toBeGreaterThan(0);
        if (chunk.length > 1) expect(chars(chunk)).toBeLessThanOrEqual(max);
        const [next] = chunks[index + 1] ?? [];
        if (next !== undefined) expect(chars([...chunk, next])).toBeGreaterThan(max);
      }
    }),
  );
});
