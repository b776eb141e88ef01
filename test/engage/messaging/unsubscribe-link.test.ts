import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHANNELS } from '../../../src/tenants/config/channels.ts';
import {
  readUnsubscribeToken,
  unsubscribeHeaders,
  unsubscribeToken,
} from '../../../src/engage/messaging/unsubscribe-link.ts';

const LINK_KEY = Buffer.alloc(32, 0x5e);
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
  it('contains tenant, player, channel and address, in characters that need no escape', () => {
    fc.assert(
      fc.property(who, (one) => {
        const token = unsubscribeToken(LINK_KEY, one);
        expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(readUnsubscribeToken(LINK_KEY, token)).toEqual(one);
      }),
    );
  });

  it('of another installation is refused, and so is one that was changed, cut off or extended', () => {
    const token = unsubscribeToken(LINK_KEY, EXAMPLE);
    expect(readUnsubscribeToken(Buffer.alloc(32, 0x5f), token)).toBeUndefined();
    const bytes = Buffer.from(token, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(readUnsubscribeToken(LINK_KEY, changed.toString('base64url'))).toBeUndefined();
    }
    for (let length = 0; length < bytes.length; length++)
      expect(readUnsubscribeToken(LINK_KEY, bytes.subarray(0, length).toString('base64url'))).toBeUndefined();
    expect(readUnsubscribeToken(LINK_KEY, `${token}AAAA`)).toBeUndefined();
    expect(readUnsubscribeToken(LINK_KEY, 'A'.repeat(1_000_000))).toBeUndefined();
  });

  it('is refused without an exception for any other text', () => {
    fc.assert(fc.property(fc.string(), (text) => readUnsubscribeToken(LINK_KEY, text) === undefined));
  });
});

it('mail programs get the unsubscribe link in the headers of RFC 8058', () => {
  const { url, headers } = unsubscribeHeaders(LINK_KEY, 'https://engage.example.com', EXAMPLE);
  expect(url).toBe(`https://engage.example.com/v1/unsubscribe?token=${unsubscribeToken(LINK_KEY, EXAMPLE)}`);
  expect(headers).toEqual({
    'List-Unsubscribe': `<${url}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  });
});
