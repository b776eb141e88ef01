import { expect, it } from 'vitest';
import { plainText } from '../../../src/engage/templates/plain-text.ts';
import { medianCost } from '../../cost.ts';

const BOUND_MS = 40;

it.each([
  '<',
  '<a',
  '<a href="https://x.example">y</a>',
  '<a href="https://x.example">',
  '<!--',
  '<script>',
  '<div>',
  '<br>',
  '&',
  '&#',
  '&amp;',
  ' ',
  ' <b> ',
  'x ',
  '</',
  '<p>Hello you</p>',
])('takes little time for a megabyte of %j', (part) => {
  const html = part.repeat(1_000_000 / part.length);
  let text = '';
  expect(medianCost(() => (text = plainText(html)), BOUND_MS)).toBeLessThan(BOUND_MS);
  expect(text.length).toBeLessThanOrEqual(100_000);
});
