import { connect } from 'node:net';
import fastify from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serverOptions } from '../../src/http/server-options.ts';

const LIMIT_MS = 300;
const options = serverOptions(pino({ level: 'silent' }));
const app = fastify({
  ...options,
  requestTimeout: LIMIT_MS,
  http: {
    ...options.http,
    requestTimeout: LIMIT_MS,
    headersTimeout: LIMIT_MS,
    connectionsCheckingInterval: 50,
  },
});
let port = 0;

beforeAll(async () => {
  app.post('/', () => 'ok');
  port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
});
afterAll(() => app.close());

/** Sends the beginning of a request, and then a character now and then; resolves with the answer when the connection ends. */
function trickle(beginning: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(beginning));
    const more = setInterval(() => socket.write('x'), 20);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(more);
      resolve(answer);
    });
  });
}

const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';

it.each([
  ['the body', `${HEAD}Content-Length: 100000\r\n\r\n{`],
  ['a header', `${HEAD}X-Long: `],
])('a request of which %s trickles ends', async (_what, beginning) => {
  const answer = await trickle(beginning);
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(answer).toContain('"code":"REQUEST_TIMEOUT"');
});

it('every host of the service ends it after 30 s', () => {
  const { requestTimeout, http } = options;
  expect([requestTimeout, http.requestTimeout, http.headersTimeout]).toEqual([30_000, 30_000, 30_000]);
  const { server } = fastify(options);
  expect([server.requestTimeout, server.headersTimeout]).toEqual([30_000, 30_000]);
});
