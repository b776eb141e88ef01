import { expect, it } from 'vitest';
import { rangeBefore } from '../../../src/console/overview/range.ts';

const at = (text: string) => Date.parse(text);
const range = (from: string, to: string) => ({ from_ms: at(from), to_ms: at(to) });

it.each([
  [
    'today with the same hours a week before',
    range('2026-11-28T00:00Z', '2026-11-28T15:00Z'),
    range('2026-11-21T00:00Z', '2026-11-21T15:00Z'),
  ],
  [
    'seven days with the seven before',
    range('2026-11-22T00:00Z', '2026-11-28T15:00Z'),
    range('2026-11-15T00:00Z', '2026-11-21T15:00Z'),
  ],
  [
    'thirty days with the thirty before',
    range('2026-10-30T00:00Z', '2026-11-28T15:00Z'),
    range('2026-09-30T00:00Z', '2026-10-29T15:00Z'),
  ],
])('compares %s', (_, now, before) => {
  expect(rangeBefore(now)).toEqual(before);
});
