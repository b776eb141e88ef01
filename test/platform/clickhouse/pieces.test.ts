import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { piecesOf } from '../../../src/platform/clickhouse/pieces.ts';

it('keeps lines in order and pieces within the limit, as few as that takes', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 30 })), fc.integer({ min: 1, max: 100 }), (lines, max) => {
      const pieces = [...piecesOf(lines, max)];
      const chars = (piece: string[]) => piece.reduce((sum, line) => sum + line.length + 1, 0);
      expect(pieces.flat()).toEqual(lines);
      for (const [index, piece] of pieces.entries()) {
        expect(piece.length).toBeGreaterThan(0);
        if (piece.length > 1) expect(chars(piece)).toBeLessThanOrEqual(max);
        const [next] = pieces[index + 1] ?? [];
        if (next !== undefined) expect(chars([...piece, next])).toBeGreaterThan(max);
      }
    }),
  );
});
