import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { LOOPBACK_NETWORKS } from '../../../src/platform/egress/addresses.ts';
import { callOnce, type OutgoingCall } from '../../../src/platform/egress/call-once.ts';
import { Egress } from '../../../src/platform/egress/egress.ts';
import { until } from '../../engines/until.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listening(server: Server | TcpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const serving = (answer: RequestListener) => listening(createServer(answer));

function called(url: string, changes: Partial<OutgoingCall> = {}) {
  const egress = new Egress({ allow: LOOPBACK_NETWORKS });
  // First, because it waits for what it has begun, and the servers end that.
  closers.unshift(() => egress.close());
  const call = {
    method: 'POST',
    url,
    headers: {},
    body: '{}',
    timeout_ms: 20_000,
    max_answer_bytes: 10,
  } as const;
  return callOnce(egress, { ...call, ...changes });
}

it('an answer has its status, its headers that came once, and its body up to the limit', async () => {
  const url = await serving((request, response) => {
    const [status = '200', body = ''] = (request.url ?? '').slice(1).split('/');
    response.writeHead(Number(status), { 'Retry-After': '7', 'X-Twice': ['a', 'b'] }).end(body);
  });
  const short = await called(`${url}/503/0123456789`);
  expect(short).toMatchObject({ kind: 'answered', status: 503, is_cut: false, broken: null });
  if (short.kind !== 'answered') throw new Error('there is an answer');
  expect(short.body.toString()).toBe('0123456789');
  expect(['retry-after', 'x-twice', 'x-none'].map((name) => short.header(name))).toEqual(['7', null, null]);
  const long = await called(`${url}/200/0123456789a`);
  expect(long).toMatchObject({ is_cut: true, body: Buffer.from('0123456789'), broken: null });
});

it('what breaks off within the answer keeps its status, and may have been acted on', async () => {
  const url = await serving((request, response) => {
    response.writeHead(201, { 'Content-Length': '5' });
    response.write('01', () => request.url === '/end' && response.destroy());
  });
  const broken = { kind: 'unanswered', may_have_left: true };
  const answered = { kind: 'answered', status: 201, body: Buffer.alloc(0), is_cut: false };
  expect(await called(`${url}/end`)).toMatchObject({ ...answered, broken: { ...broken, why: 'error' } });
  expect(await called(url, { timeout_ms: 200 })).toMatchObject({
    ...answered,
    broken: { ...broken, why: 'timeout' },
  });
});

it('a call that is aborted or late ends, and says whether it may have left', async () => {
  const given_up = new AbortController();
  let received = 0;
  const url = await serving(() => {
    received += 1;
  });
  const late = await called(url, { depart_by_ms: -1 });
  expect(late).toEqual({ kind: 'unanswered', why: 'late', code: 'TooLate', may_have_left: false });
  const signal = given_up.signal;
  const running = called(url, { signal });
  await until((saw) => saw(received) === 1);
  given_up.abort();
  expect(await running).toMatchObject({ kind: 'unanswered', why: 'aborted', may_have_left: true });
  expect(await called(url, { signal })).toMatchObject({ why: 'aborted', may_have_left: false });
  expect(received).toBe(1);
});

it('nothing has left when the request is impossible, refused, or its connection never opens', async () => {
  const silent = (await listening(createTcpServer())).replace('http:', 'https:');
  const unanswered = { kind: 'unanswered', may_have_left: false };
  expect(await called('https://10.0.0.1')).toEqual({ ...unanswered, why: 'error', code: 'EGRESS_REFUSED' });
  expect(await called(silent, { headers: { 'x-y': 'a\nb' } })).toEqual({
    ...unanswered,
    why: 'error',
    code: 'UND_ERR_INVALID_ARG',
  });
});

it('a time-out before the request is written says that nothing has left', async () => {
  const url = (await listening(createTcpServer((socket) => closers.push(() => socket.destroy())))).replace(
    'http:',
    'https:',
  );
  expect(await called(url, { timeout_ms: 100 })).toMatchObject({
    kind: 'unanswered',
    why: 'timeout',
    may_have_left: false,
  });
});
