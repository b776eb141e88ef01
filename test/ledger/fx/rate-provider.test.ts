import type { ServerResponse } from 'node:http';
import { stringify } from 'lossless-json';
import { afterEach, expect, it } from 'vitest';
import {
  addressBelow,
  askProvider,
  PROVIDER_DEFAULTS,
  ProviderFailed,
} from '../../../src/ledger/fx/rate-provider.ts';
import { json, startServer, type TestServer } from './provider-servers.ts';

// Requests to any rate provider: attempts, time limits, sizes.

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');

const servers: TestServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(handle: TestServer['handle']): Promise<TestServer> {
  const server = await startServer(handle);
  servers.push(server);
  return server;
}

/** Asks without real pauses; `pauses` lists the milliseconds that it would have waited. */
async function ask(
  url: string,
  { timeout_ms = 5_000, stop }: { timeout_ms?: number; stop?: AbortSignal } = {},
) {
  const pauses: number[] = [];
  const pause = async (ms: number) => void pauses.push(ms);
  const deps = { clock: { now_ms: () => NOW_MS }, timeout_ms, pause };
  const answer = await askProvider('somebody', url, deps, stop).catch((error: unknown) => error);
  return { answer, pauses };
}

/** Answers the requests in this order; the last answer is repeated. */
function inOrder(...handles: TestServer['handle'][]): TestServer['handle'] {
  let next = 0;
  return (...call) => handles[Math.min(next++, handles.length - 1)]?.(...call);
}

const refuse =
  (status: number, headers: Record<string, string> = {}): TestServer['handle'] =>
  (_request, response) =>
    response.writeHead(status, headers).end('no');

it('keeps numbers as their digits', async () => {
  const text = '{"a":0.10,"b":[123456789012345678901234567890.123456789,1e-30,-0.0]}';
  const { url } = await serve(json(text));
  const { answer, pauses } = await ask(url);
  expect(stringify(answer)).toBe(text);
  expect(pauses).toEqual([]);
});

it('tries three times when a retry may help, with growing pauses', async () => {
  const server = await serve(inOrder(refuse(500), refuse(503), json('{}')));
  expect(await ask(server.url)).toEqual({ answer: {}, pauses: [500, 2_000] });
  expect(server.requests).toHaveLength(3);

  server.handle = refuse(500);
  const { answer, pauses } = await ask(`${server.url}/rates?of=all`);
  expect(answer).toBeInstanceOf(ProviderFailed);
  expect(answer).toMatchObject({
    provider: 'somebody',
    code: 'FX_PROVIDER_FAILED',
    is_down: true,
    message: `somebody: GET ${server.url}/rates?of=all was answered with 500, attempt 3`,
  });
  expect(pauses).toEqual([500, 2_000]);
  expect(server.requests).toHaveLength(6);
});

it('waits as long as Retry-After says, within bounds', async () => {
  const busy = (value: string) => refuse(429, { 'retry-after': value });
  const in9s = new Date(NOW_MS + 9_000).toUTCString();
  const server = await serve(inOrder(busy('7'), busy(in9s), json('{}')));
  expect(await ask(server.url)).toEqual({ answer: {}, pauses: [7_000, 9_000] });
  server.handle = inOrder(busy('0'), busy('soon'), json('{}'));
  expect(await ask(server.url)).toEqual({ answer: {}, pauses: [500, 2_000] });

  for (const value of ['31', '86400', new Date(NOW_MS + 60_000).toUTCString()]) {
    server.handle = busy(value);
    server.requests.splice(0);
    const { answer, pauses } = await ask(server.url);
    expect((answer as Error).message).toMatch(/was answered with 429 \(try again in \d+ s\), attempt 1$/);
    expect(answer).toMatchObject({ is_down: true });
    expect([pauses, server.requests.length]).toEqual([[], 1]);
  }
});

it('does not retry permanent failures, and follows no redirect', async () => {
  const elsewhere = await serve(json('{}'));
  const cases: [TestServer['handle'], RegExp][] = [
    [refuse(404), /was answered with 404/],
    [refuse(401), /was answered with 401/],
    [refuse(302, { location: elsewhere.url }), /was answered with 302/],
    [json('<html>', 200), /was not answered with JSON/],
    [json('{"a":NaN}'), /was not answered with JSON/],
    [json('{"a":1'), /was not answered with JSON/],
    [json('['.repeat(500_000)), /was not answered with JSON/],
    [(_request, response) => response.end(Buffer.from([0x22, 0xff, 0x22])), /was not answered with JSON/],
  ];
  for (const [handle, message] of cases) {
    const server = await serve(handle);
    const { answer, pauses } = await ask(server.url);
    expect(answer).toBeInstanceOf(ProviderFailed);
    expect((answer as Error).message).toMatch(message);
    expect(answer).toMatchObject({ is_down: false });
    expect([pauses, server.requests.length]).toEqual([[], 1]);
  }
  expect(elsewhere.requests).toEqual([]);
});

it('stops reading an answer that is too long', async () => {
  let cut = 0;
  const pour = (response: ServerResponse) => {
    while (response.writable && response.write('[1,'.repeat(10_000)));
    if (response.writable) response.once('drain', () => pour(response));
  };
  const server = await serve((_request, response) => {
    response.once('close', () => cut++);
    pour(response);
  });
  const { answer } = await ask(server.url);
  expect((answer as Error).message).toMatch(/was answered with over 1048576 bytes, attempt 1$/);
  await expect.poll(() => cut).toBe(1);
});

it.each([
  ['says nothing', () => undefined],
  ['stops in the middle', (_request, response) => void response.write('{"a":')],
] as [string, TestServer['handle']][])('gives up on a provider that %s', async (_what, handle) => {
  const server = await serve(handle);
  const { answer } = await ask(server.url, { timeout_ms: 100 });
  expect((answer as Error).message).toMatch(/took over 100 ms, attempt 3$/);
  expect(answer).toMatchObject({ is_down: true });
  expect(server.requests).toHaveLength(3);
});

it('retries when the connection is refused or broken', async () => {
  const closed = await startServer(json('{}'));
  await closed.close();
  const refused = await ask(closed.url);
  expect((refused.answer as Error).message).toMatch(/got no answer, attempt 3$/);
  const server = await serve(inOrder((request) => request.socket.destroy(), json('{}')));
  expect(await ask(server.url)).toEqual({ answer: {}, pauses: [500] });
});

it('ends at once when it is aborted, even during a pause', async () => {
  const stop = new AbortController();
  const server = await serve(() => stop.abort(new Error('closing')));
  expect((await ask(server.url, { stop: stop.signal })).answer).toMatchObject({ message: 'closing' });
  expect((await ask(server.url, { stop: stop.signal })).answer).toMatchObject({ message: 'closing' });
  expect(server.requests).toHaveLength(1);

  const pausing = new AbortController();
  const pause = PROVIDER_DEFAULTS.pause(60_000, pausing.signal);
  pausing.abort();
  await expect(pause).rejects.toThrow('aborted');
});

it.each([
  ['http://rates.example', 'http://rates.example/v1/x?a=B,C&d=e'],
  ['http://rates.example/', 'http://rates.example/v1/x?a=B,C&d=e'],
  ['http://rates.example:8080/some/path/', 'http://rates.example:8080/some/path/v1/x?a=B,C&d=e'],
])('the address below %s is %s', (provider_url, url) => {
  expect(addressBelow(provider_url, '/v1/x', { a: ['B', 'C'], d: ['e'] })).toBe(url);
  expect(addressBelow(provider_url, '/v1/x', { a: ['&', '?#', 'é'] })).toMatch(/\?a=%26,%3F%23,%C3%A9$/);
});
