import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHANNELS } from '../../../src/tenants/config/channels.ts';
import {
  readUnsubscribeToken,
  unsubscribeHeaders,
  unsubscribeToken,
} from '../../../src/engage/messaging/unsubscribe-link.ts';

const SECRET = '5e'.repeat(32);
const who = fc.record({
  tenant_id: fc.uuid(),
  project_id: fc.uuid(),
  player_id: fc.uuid(),
  channel: fc.constantFrom(...CHANNELS),
  address: fc.string({ unit: 'binary', maxLength: 320 }).map((text) => text.toWellFormed()),
});
const EXAMPLE = {
  tenant_id: '018f0000-0000-7000-8000-000000000001',
  project_id: '018f0000-0000-7000-8000-000000000002',
  player_id: '018f0000-0000-7000-8000-000000000003',
  channel: 'email',
  address: 'Ann@example.com',
} as const;

describe('a token', () => {
  it('carries whom it is of, in characters that need no escape', () => {
    fc.assert(
      fc.property(who, (one) => {
        const token = unsubscribeToken(SECRET, one);
        expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(readUnsubscribeToken(SECRET, token)).toEqual(one);
      }),
    );
  });

  it('of another installation is none, nor is one with a bit changed, cut off or made longer', () => {
    const token = unsubscribeToken(SECRET, EXAMPLE);
    expect(readUnsubscribeToken('5f'.repeat(32), token)).toBeUndefined();
    const bytes = Buffer.from(token, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(readUnsubscribeToken(SECRET, changed.toString('base64url'))).toBeUndefined();
    }
    for (let length = 0; length < bytes.length; length++)
      expect(readUnsubscribeToken(SECRET, bytes.subarray(0, length).toString('base64url'))).toBeUndefined();
    expect(readUnsubscribeToken(SECRET, `${token}AAAA`)).toBeUndefined();
    expect(readUnsubscribeToken(SECRET, 'A'.repeat(1_000_000))).toBeUndefined();
  });

  it('may be any text', () => {
    fc.assert(fc.property(fc.string(), (text) => readUnsubscribeToken(SECRET, text) === undefined));
  });
});

it('is offered to mail programs as RFC 8058 says', () => {
  const { url, headers } = unsubscribeHeaders(SECRET, 'https://engage.example.com', EXAMPLE);
  expect(url).toBe(`https://engage.example.com/v1/unsubscribe?token=${unsubscribeToken(SECRET, EXAMPLE)}`);
  expect(headers).toEqual({
    'List-Unsubscribe': `<${url}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  });
});
