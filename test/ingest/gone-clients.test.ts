import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADDRESS_POLICY } from '../../src/http/auth/address-limit.ts';
import type { RateLimiter } from '../../src/platform/rate-limit/port.ts';
import { sharedFixture } from '../http/shared-fixture.ts';
import type { Fixture } from '../http/api-fixture.ts';
import { until } from '../engines/until.ts';
import { openDialectHost, type DialectHost } from './segment-dialect/dialect-host.ts';

// Clients that end their connection before the limit of their key has answered.

let fixture: Fixture;
let host: DialectHost;
let key: string;
/** Of each permit of an address: whose. */
const taken: string[] = [];
let sockets: Socket[];
let port: number;

beforeAll(async () => {
  fixture = await sharedFixture();
  const limiter = fixture.platform.rateLimiter;
  const rateLimiter: RateLimiter = {
    ...limiter,
    takeInWindow: (policy, of) => limiter.takeInWindow(policy, of),
    async take(policy, of, permits) {
      if (policy === ADDRESS_POLICY) taken.push(of);
      else await until('the client is gone', () => sockets.every(({ destroyed }) => destroyed));
      return limiter.take(policy, of, permits);
    },
  };
  host = await openDialectHost(fixture, { rateLimiter });
  host.app.server.on('connection', (socket: Socket) => sockets.push(socket));
  await host.app.listen({ port: 0, host: '127.0.0.1' });
  port = (host.app.server.address() as { port: number }).port;
  const tenant = await fixture.makeTenant();
  const { data } = await fixture.as(tenant.session, `/v1/projects/${tenant.project_id}/api-keys`, {
    method: 'POST',
    body: { name: 'page', kind: 'client' },
  });
  key = String(data['key']);
  sockets = [];
  // From here on the key is in memory.
  await host.post(key, '/v1/track', { anonymousId: 'a', event: 'Seen' });
});
afterAll(async () => {
  await host?.close();
  await fixture?.close();
});

it.each([
  [
    'of the dialect with the key in the body',
    '/v1/track',
    () => ({}),
    { anonymousId: 'a', event: 'Clicked' },
  ],
  [
    'of native events',
    '/v1/events',
    () => ({ authorization: `Bearer ${key}` }),
    { anonymous_id: 'a', event: 'custom_clicked' },
  ],
])('an event %s counts for the address of a client that is gone', async (_, path, headersOf, event) => {
  sockets = [];
  taken.length = 0;
  const is_keyless = !('authorization' in headersOf());
  const body = gzipSync(JSON.stringify({ ...event, ...(is_keyless ? { writeKey: key } : {}) }));
  const headers = {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'content-length': body.length,
    ...headersOf(),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const client = connect(port, '127.0.0.1');
  await once(client, 'connect');
  client.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${lines.join('')}\r\n`);
  client.write(body, () => client.destroy());
  await until('an address has its permit', (saw) => saw(taken).length > 0);
  expect(taken).toEqual([expect.stringMatching(/\/127\.0\.0\.1$/)]);
});
