import { expect, it } from 'vitest';
import { daysOf, ExportRefused } from '../../../scripts/export/days.ts';

it('the days from one date to another include both', () => {
  expect(daysOf('2026-02-28', '2026-03-01')).toEqual([
    { date: '2026-02-28', from: '2026-02-28T00:00:00.000Z', to: '2026-03-01T00:00:00.000Z' },
    { date: '2026-03-01', from: '2026-03-01T00:00:00.000Z', to: '2026-03-02T00:00:00.000Z' },
  ]);
  expect(daysOf('2024-01-01', '2024-12-31')).toHaveLength(366);
});

it.each([
  [undefined, '2026-01-01'],
  ['2026-01-01', undefined],
  ['2026-01-02', '2026-01-01'],
  ['2026-02-30', '2026-03-01'],
  ['2026-1-1', '2026-01-01'],
  ['2026-01-01T00:00:00Z', '2026-01-02'],
  ['yesterday', 'today'],
  ['2023-01-01', '2024-01-02'],
])('from %s to %s is refused', (from, to) => {
  expect(() => daysOf(from, to)).toThrow(ExportRefused);
});
