import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isSigned, signatureOf } from '../../../src/http/auth/webhook-signature.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00.000Z');
const NOW_S = NOW_MS / 1_000;

/** The scheme once more, with Web Crypto. */
async function oracle(secret: string, timestamp_s: number, body: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
  const mac = await crypto.subtle.sign('HMAC', key, encoder.encode(`${timestamp_s}.${body}`));
  return Buffer.from(mac).toString('hex');
}

describe('the signature of webhooks', () => {
  it('is that of openssl', () => {
    // printf '1767225600.{"event":"bonus.completed"}' | openssl dgst -sha256 -hmac 'shared-secret'
    expect(signatureOf('shared-secret', NOW_S, '{"event":"bonus.completed"}')).toBe(
      '996fa08c513165496f566f9a174aae5ce0daf9094d0102a370b65eebb542de14',
    );
  });

  it('is that of another implementation, for any secret and body', async () => {
    for (let n = 0; n < 100; n++) {
      const secret = n % 2 === 0 ? randomBytes(32).toString('base64url') : `ключ-${n}-€`;
      const body = JSON.stringify({ n, text: randomBytes(n).toString('latin1') });
      const expected = await oracle(secret, NOW_S + n, body);
      expect(signatureOf(secret, NOW_S + n, body)).toBe(expected);
      expect(signatureOf(secret, NOW_S + n, Buffer.from(body))).toBe(expected);
    }
  });

  it('is accepted from any of the secrets, in both cases of letters, for five minutes around now', () => {
    const body = '{"a":1}';
    const signed = (timestamp_s: number) => ({
      signature: signatureOf('second', timestamp_s, body),
      timestamp: String(timestamp_s),
      body,
    });
    const accepts = (timestamp_s: number) => isSigned(['first', 'second'], signed(timestamp_s), NOW_MS);
    for (const age_s of [0, 300, -300]) expect(accepts(NOW_S - age_s)).toBe(true);
    for (const age_s of [301, -301, NOW_S]) expect(accepts(NOW_S - age_s)).toBe(false);
    const { signature, ...rest } = signed(NOW_S);
    expect(isSigned(['second'], { ...rest, signature: signature.toUpperCase() }, NOW_MS)).toBe(true);
    expect(isSigned(['first'], signed(NOW_S), NOW_MS)).toBe(false);
    expect(isSigned([], signed(NOW_S), NOW_MS)).toBe(false);
  });

  it('is refused when anything is missing, malformed or changed', () => {
    const body = '{"a":1}';
    const signature = signatureOf('s', NOW_S, body);
    const good = { signature, timestamp: String(NOW_S), body };
    expect(isSigned(['s'], good, NOW_MS)).toBe(true);
    const bad = [
      { signature: undefined },
      { signature: '' },
      { signature: signature.slice(0, -1) },
      { signature: `${signature}00` },
      { signature: `sha256=${signature}` },
      { signature: signature.replace(/^./, (first) => (first === '0' ? '1' : '0')) },
      { timestamp: undefined },
      { timestamp: '' },
      { timestamp: `${NOW_S}.0` },
      { timestamp: ` ${NOW_S}` },
      { timestamp: `${NOW_S + 1}` },
      { timestamp: new Date(NOW_MS).toISOString() },
      { body: '{"a":2}' },
      { body: '{"a":1} ' },
    ];
    for (const change of bad)
      expect(isSigned(['s'], { ...good, ...change }, NOW_MS), JSON.stringify(change)).toBe(false);
  });
});
