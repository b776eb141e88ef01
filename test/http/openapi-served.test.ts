import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptsGzip } from '../../src/http/prepared-answer.ts';
import type { Fixture } from './api-fixture.ts';
import { sharedFixture } from './shared-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await sharedFixture();
});
afterAll(() => fixture.close());

const get = (headers: Record<string, string> = {}) =>
  fixture.app.inject({ method: 'GET', url: '/openapi.json', headers });

/** What the compressed document may be, in bytes. */
const MAX_GZIP = 100_000;

describe('/openapi.json', () => {
  it('is sent with gzip to those who accept it, and as it is to others', async () => {
    const plain = await get();
    expect(plain.headers['content-encoding']).toBeUndefined();
    const compressed = await get({ 'accept-encoding': 'br;q=1.0, gzip;q=0.8' });
    expect(compressed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'application/json; charset=utf-8',
      vary: 'accept-encoding',
      'cache-control': 'no-cache',
    });
    expect(compressed.rawPayload.length).toBeLessThan(MAX_GZIP);
    expect(gunzipSync(compressed.rawPayload).toString()).toBe(plain.body);
  });

  it('is not sent again to those who have it', async () => {
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const { headers: answered } = await get(headers);
      const etag = String(answered['etag']);
      const again = await get({ ...headers, 'if-none-match': `"other", W/${etag}` });
      expect(again.statusCode).toBe(304);
      expect(again.rawPayload.length).toBe(0);
      expect(again.headers['etag']).toBe(etag);
      expect((await get({ ...headers, 'if-none-match': '"other"' })).statusCode).toBe(200);
    }
  });

  it('has another tag in each encoding', async () => {
    const [plain, compressed] = [await get(), await get({ 'accept-encoding': 'gzip' })];
    expect(plain.headers['etag']).not.toBe(compressed.headers['etag']);
  });
});

it.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['x-gzip', true],
  ['br, gzip;q=0', false],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0, *', false],
  ['identity', false],
])('Accept-Encoding %j takes gzip: %s', (accepted, takes) => {
  expect(acceptsGzip(accepted)).toBe(takes);
});
