import { expect, it } from 'vitest';
import { emailHtml } from '../../../src/engage/messaging/transports/email.ts';
import { medianCost } from '../../cost.ts';

it('the preheader comes into a body in linear time', () => {
  const body = '<body'.repeat(200_000);
  let html = '';
  // Quadratic time takes too long.
  expect(medianCost(() => (html = emailHtml({ body, preheader: 'p' })), 1_000)).toBeLessThan(1_000);
  expect(html).toMatch(/^<div /);
});
