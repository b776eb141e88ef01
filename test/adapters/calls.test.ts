import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { v5 as uuidv5 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newWebhookSecret, signatureOf } from '../../src/http/auth/webhook-signature.ts';
import { readCancel, readGrant, readStatus, type Reply } from '../../src/adapters/answers.ts';
import { CIRCUIT_UNKNOWNS, Gate } from '../../src/adapters/gate.ts';
import { HttpPlatform, type HttpAdapter } from '../../src/adapters/http-platform.ts';
import type { GrantAnswer, GrantOrder } from '../../src/adapters/platform.ts';
import { MAX_ANSWER_BYTES } from '../../src/adapters/protocol.ts';
import { systemClock, type Clock } from '../../src/platform/clock.ts';
import { LOOPBACK_NETWORKS } from '../../src/platform/egress/addresses.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import {
  FakePlatformClient,
  NO_FAULTS,
  startFakePlatform,
  type FakePlatform,
} from '../bonuses/fake-platform.ts';
import { orderOf } from './orders.ts';

const SECRET = newWebhookSecret();
const egress = new Egress({ allow: LOOPBACK_NETWORKS });
const metrics = createMetrics();
let fake: FakePlatform;
let client: FakePlatformClient;

beforeAll(async () => {
  fake = await startFakePlatform([SECRET]);
  client = new FakePlatformClient(fake.url);
});
afterAll(async () => {
  await egress.close();
  await fake.close();
});
beforeEach(() => client.control({ faults: NO_FAULTS, secrets: [SECRET], token: null, answer: null }));

const CAPABILITIES = { grant: true, cancel: true, status: true, kyc: true, completion: 'platform' } as const;

function platformAt(
  base_url: string,
  changes: Partial<HttpAdapter> = {},
  clock: Clock = systemClock,
  through = egress,
): HttpPlatform {
  const adapter: HttpAdapter = {
    slug: 'acme',
    base_url,
    secrets: [SECRET],
    token: undefined,
    timeout_ms: 20_000,
    max_rps: 10_000,
    max_in_flight: 16,
    capabilities: CAPABILITIES,
    ...changes,
  };
  return new HttpPlatform({ egress: through, clock, metrics }, adapter, new Gate(adapter));
}

function cancelOf({ grant_id }: GrantOrder) {
  const body = { action: 'cancel', grant_id, platform_bonus_id: null, player_external_id: 'p', reason: null };
  return { grant_id, body: JSON.stringify(body) };
}

/** A server that answers each connection with these bytes, and then ends it. */
async function rawServer(bytes: string | Buffer): Promise<{ url: string; server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe('a call', () => {
  it('is signed over its bytes and carries the key and the attempt; a bonus lives and is cancelled', async () => {
    const platform = platformAt(fake.url);
    const order = orderOf();
    await client.settle();
    expect(await platform.grant(order, 3)).toEqual({
      kind: 'credited',
      platform_bonus_id: `pb-${order.grant_id}`,
    });
    expect(await platform.grant(order, 4)).toEqual({ kind: 'duplicate' });
    const by_grant = { grant_id: order.grant_id, platform_bonus_id: null };
    const found = {
      kind: 'found',
      bonus: { status: 'active', platform_bonus_id: `pb-${order.grant_id}`, amount: 500n },
    };
    expect(await platform.status(by_grant)).toMatchObject(found);
    expect(await platform.status({ ...by_grant, platform_bonus_id: `pb-${order.grant_id}` })).toMatchObject(
      found,
    );
    // A URL drops such an id, so the bonus is asked for by its grant; it is another one.
    expect(await platform.status({ ...by_grant, platform_bonus_id: '..' })).toMatchObject({
      kind: 'unknown',
    });
    expect(await platform.cancel(cancelOf(order), 1)).toEqual({ kind: 'cancelled' });
    expect(await platform.cancel(cancelOf(order), 2)).toEqual({ kind: 'cancelled' });
    expect(await platform.cancel(cancelOf(orderOf()), 1)).toEqual({ kind: 'missing' });
    expect(await platform.status({ ...by_grant, grant_id: randomUUID() })).toEqual({ kind: 'missing' });
    const { calls } = await client.ledger();
    const [first] = calls;
    expect(first).toMatchObject({ method: 'POST', path: '/v1/bonuses/grant', body: order.body });
    const timestamp_s = Number(first?.headers['x-service-timestamp']);
    expect(first?.headers).toMatchObject({
      'idempotency-key': order.grant_id,
      'x-attempt': '3',
      'x-service-signature': signatureOf(SECRET, timestamp_s, order.body),
    });
    const asked = calls.filter(({ method }) => method === 'GET').map(({ path }) => path);
    expect(asked.filter((path) => !path.startsWith('/v1/bonuses/')).slice(0, 20)).toEqual([]);
    const cancel = calls.find(({ path }) => path === '/v1/bonuses/cancel');
    expect(cancel?.headers['idempotency-key']).toBe(uuidv5('cancel', order.grant_id));
    const status = calls.find(({ method }) => method === 'GET');
    const asked_s = Number(status?.headers['x-service-timestamp']);
    expect(status?.headers['x-service-signature']).toBe(signatureOf(SECRET, asked_s, ''));
  });

  it('of KYC goes to its path under its own key', async () => {
    await client.settle();
    const call = { action: 'update', call_id: randomUUID(), body: '{"level":2}' } as const;
    expect(await platformAt(fake.url).kyc(call, 1)).toEqual({ kind: 'accepted', provider_ref: 'kyc-1' });
    expect((await client.ledger()).calls).toMatchObject([
      { path: '/v1/kyc/update', body: call.body, headers: { 'idempotency-key': call.call_id } },
    ]);
  });

  it('is not made without the capability', async () => {
    const none = { ...CAPABILITIES, grant: false, cancel: false, status: false, kyc: false };
    const platform = platformAt('http://127.0.0.1:1', { capabilities: none });
    const order = orderOf();
    expect(await platform.grant(order, 1)).toMatchObject({ kind: 'refused', code: 'UNSUPPORTED' });
    expect(await platform.cancel(cancelOf(order), 1)).toMatchObject({ kind: 'refused', code: 'UNSUPPORTED' });
    expect(await platform.status({ ...order, platform_bonus_id: null })).toEqual({ kind: 'unsupported' });
    expect(await platform.kyc({ action: 'initiate', call_id: order.grant_id, body: '{}' }, 1)).toEqual({
      kind: 'unsupported',
    });
  });

  it('carries the bearer token; refused credentials raise the metric until they are accepted', async () => {
    await client.control({ token: 'tok' });
    const read = async () =>
      (await metrics.adapterCredentialsRefused.get()).values.find(({ labels }) => labels.adapter === 'bearer')
        ?.value;
    const without = platformAt(fake.url, { slug: 'bearer' });
    expect(await without.grant(orderOf(), 1)).toMatchObject({ kind: 'unsent', reason: 'credentials' });
    expect(await read()).toBe(1);
    expect(await platformAt(fake.url, { slug: 'bearer', token: 'tok' }).grant(orderOf(), 1)).toMatchObject({
      kind: 'credited',
    });
    expect(await read()).toBe(0);
  });

  it('is signed again with the older secret while the platform does not know the new one', async () => {
    const platform = platformAt(fake.url, { slug: 'rotated', secrets: [newWebhookSecret(), SECRET] });
    expect(await platform.grant(orderOf(), 1)).toMatchObject({ kind: 'credited' });
    // Each of the two requests has a time under its outcome.
    const text = await metrics.registry.metrics();
    for (const outcome of ['unsent', 'credited'])
      expect(text).toContain(`adapter_request_seconds_count{adapter="rotated",outcome="${outcome}"} 1`);
    expect(text).toContain('adapter_call_seconds_count{adapter="rotated"} 2');
  });

  it('is not signed again when the platform was slow to refuse: other processes may take the call over', async () => {
    let looks = 0;
    const clock = { ...systemClock, now_ms: () => systemClock.now_ms() + looks++ * 30_000 };
    const slow = platformAt(fake.url, { secrets: [newWebhookSecret(), newWebhookSecret(), SECRET] }, clock);
    expect(await slow.grant(orderOf(), 1)).toMatchObject({ kind: 'unsent', reason: 'credentials' });
  });

  it('never left: no connection, no name, a closed network', async () => {
    const urls = [
      'http://127.0.0.1:1',
      'https://no-such-host.invalid',
      'https://10.0.0.1',
      'https://127.0.0.1:1',
    ];
    for (const url of urls) {
      expect(await platformAt(url).grant(orderOf(), 1), url).toMatchObject({
        kind: 'unsent',
        reason: 'unreachable',
      });
    }
    // It speaks no TLS.
    const tls = platformAt(fake.url.replace('http:', 'https:'));
    expect(await tls.grant(orderOf(), 1)).toMatchObject({ kind: 'unsent', reason: 'unreachable' });
  });

  it('has no known outcome: a time-out, a redirect, an answer that is too long, a closed connection', async () => {
    const order = orderOf();
    await client.control({ faults: { delay_ms: 60_000, seed: 7 } });
    expect(await platformAt(fake.url, { timeout_ms: 500 }).grant(order, 1)).toMatchObject({
      kind: 'unknown',
    });
    await client.control({ faults: NO_FAULTS });
    for (const status of [301, 302, 307, 308]) {
      await client.control({
        answer: { status, body: '{}', headers: { location: `${fake.url}/v1/bonuses/grant` } },
      });
      expect(await platformAt(fake.url).grant(order, 1), String(status)).toMatchObject({ kind: 'unknown' });
    }
    const long = JSON.stringify({
      platform_bonus_id: 'x',
      status: 'credited',
      pad: 'x'.repeat(MAX_ANSWER_BYTES),
    });
    await client.control({ answer: { status: 200, body: long } });
    expect(await platformAt(fake.url).grant(order, 1)).toMatchObject({ kind: 'unknown' });
    await client.control({ answer: null, faults: { drop: 1 } });
    expect(await platformAt(fake.url).grant(order, 1)).toMatchObject({ kind: 'unknown' });
  });

  it('has no known outcome when the answer is cut, at each byte, however its end is told', async () => {
    const body = (status: number) =>
      status < 300
        ? JSON.stringify({ platform_bonus_id: 'pb-1', status: 'credited' })
        : JSON.stringify({ code: status === 409 ? 'DUPLICATE_GRANT' : 'PLAYER_BLOCKED', message: 'no' });
    const framings = (text: string) => [
      `Content-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
      `Content-Length: ${text.length}\r\n\r\n${text}`,
      `Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
    ];
    for (const status of [201, 409, 422]) {
      for (const framing of framings(body(status)).slice(0, status === 201 ? 3 : 1)) {
        const bytes = `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\n${framing}`;
        const whole = await answerTo(bytes);
        expect(whole.kind, bytes).toBe({ 201: 'credited', 409: 'duplicate', 422: 'refused' }[status]);
        const cuts = Array.from({ length: bytes.length - 1 }, (_, at) => at);
        const kinds = await Promise.all(cuts.map(async (at) => (await answerTo(bytes.slice(0, at))).kind));
        // The last chunk's end may be missing: the answer was read before it.
        const body_end = bytes.indexOf(body(status)) + body(status).length;
        for (const [at, kind] of kinds.entries()) {
          const says =
            at >= body_end && framing.startsWith('Transfer') ? ['unknown', whole.kind] : ['unknown'];
          expect(says, `${at}: ${bytes.slice(0, at)}`).toContain(kind);
        }
      }
    }
  }, 60_000);

  async function answerTo(bytes: string): Promise<GrantAnswer> {
    const { url, server } = await rawServer(bytes);
    try {
      return await platformAt(url).grant(orderOf(), 1);
    } finally {
      server.close();
    }
  }
});

describe('what an answer to a grant means', () => {
  const reply = (status: number, text: string, retry_after_ms: number | null = null): Reply => ({
    kind: 'answered',
    status,
    text,
    retry_after_ms,
  });
  const coded = (code: string) => JSON.stringify({ code, message: 'why' });

  it.each<[string, Reply, object]>([
    ['200 credited', reply(200, '{"platform_bonus_id":"a","status":"credited"}'), { kind: 'credited' }],
    ['201 pending', reply(201, '{"platform_bonus_id":"a","status":"pending"}'), { kind: 'accepted' }],
    ['2xx of another shape', reply(200, '{"platform_bonus_id":"","status":"credited"}'), { kind: 'unknown' }],
    [
      '2xx of an unknown status',
      reply(200, '{"platform_bonus_id":"a","status":"done"}'),
      { kind: 'unknown' },
    ],
    ['204', reply(204, ''), { kind: 'unknown' }],
    ['400', reply(400, coded('BAD')), { kind: 'refused', code: 'BAD', message: 'why' }],
    ['an enveloped code', reply(422, `{"error":${coded('BAD')}}`), { kind: 'refused', code: 'BAD' }],
    ['404 of a proxy', reply(404, '<html>'), { kind: 'refused', code: 'HTTP_404' }],
    ['409 of a grant that it has', reply(409, coded('DUPLICATE_GRANT')), { kind: 'duplicate' }],
    ['409 for another reason', reply(409, coded('PLAYER_BUSY')), { kind: 'refused', code: 'PLAYER_BUSY' }],
    ['409 without a code', reply(409, ''), { kind: 'unknown' }],
    ['401', reply(401, ''), { kind: 'unsent', reason: 'credentials' }],
    ['403 without a code', reply(403, '{}'), { kind: 'unsent', reason: 'credentials' }],
    ['403 with a code', reply(403, coded('PLAYER_BLOCKED')), { kind: 'refused', code: 'PLAYER_BLOCKED' }],
    ['408', reply(408, ''), { kind: 'unsent', reason: 'busy' }],
    ['425', reply(425, ''), { kind: 'unsent', reason: 'busy' }],
    ['429', reply(429, coded('SLOW'), 7_000), { kind: 'unsent', reason: 'busy', retry_after_ms: 7_000 }],
    ['500', reply(500, coded('BAD')), { kind: 'unknown' }],
    ['503', reply(503, '', 1_000), { kind: 'unknown' }],
  ])('%s', (_name, heard, answer) => {
    expect(readGrant(heard)).toMatchObject(answer);
  });

  it('is decided by the table for any status and body, and holds nothing that Postgres cannot', () => {
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record({ code: fc.string({ unit: 'binary' }), message: fc.string({ unit: 'binary' }) })
        .map((b) => JSON.stringify(b)),
      fc
        .record({
          platform_bonus_id: fc.string({ unit: 'binary' }),
          status: fc.constantFrom('credited', 'pending', 'x'),
        })
        .map((b) => JSON.stringify(b)),
    );
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), body, (status, text) => {
        const answer = readGrant(reply(status, text));
        if (answer.kind === 'credited' || answer.kind === 'accepted') expect(status).toBeLessThan(300);
        if (answer.kind === 'refused' || answer.kind === 'duplicate' || answer.kind === 'unsent')
          expect(Math.floor(status / 100)).toBe(4);
        if (status >= 500 || status < 200 || (status >= 300 && status < 400))
          expect(answer.kind).toBe('unknown');
        expect(JSON.stringify(answer)).not.toMatch(/\\u0000|\\ud[89a-f]/i);
      }),
    );
  });

  it('differs for a cancel and a status query', () => {
    expect(readCancel(reply(404, ''))).toEqual({ kind: 'missing' });
    expect(readCancel(reply(409, coded('X')))).toEqual({ kind: 'ended' });
    expect(readCancel(reply(422, coded('X')))).toMatchObject({ kind: 'refused', code: 'X' });
    expect(readCancel(reply(200, '{"status":"completed"}'))).toMatchObject({ kind: 'unknown' });
    const asked = { grant_id: randomUUID(), platform_bonus_id: 'a' };
    const said = { ...asked, status: 'credited', updated_at: '2026-01-02T03:04:05Z', total_wagered: '12' };
    const of = (bonus: object) => readStatus(reply(200, JSON.stringify(bonus)), asked);
    expect(of(said)).toMatchObject({ kind: 'found', bonus: { status: 'active', total_wagered: 12n } });
    expect(of({ ...said, grant_id: randomUUID() })).toMatchObject({ kind: 'unknown' });
    expect(of({ ...said, platform_bonus_id: 'b' })).toMatchObject({ kind: 'unknown' });
    expect(of({ ...said, status: 'gone' })).toMatchObject({ kind: 'unknown' });
    expect(readStatus(reply(404, ''), asked)).toEqual({ kind: 'missing' });
    expect(readStatus(reply(422, coded('X')), asked)).toMatchObject({ kind: 'unknown' });
  });
});

describe('the limits of calls', () => {
  it('let no more than max_in_flight run at once', async () => {
    let running = 0;
    let most = 0;
    const gate = new Gate({ max_in_flight: 3, max_rps: 10_000 });
    const call = async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return 'done';
    };
    const all = Array.from({ length: 50 }, () => gate.run(call, SURE));
    expect(await Promise.all(all)).toEqual(all.map(() => 'done'));
    expect(most).toBe(3);
  });

  it('begin no more than max_rps calls in any second, and refuse what would wait over a second', async () => {
    vi.useFakeTimers();
    try {
      const gate = new Gate({ max_in_flight: 1_000, max_rps: 10 }, () => Date.now());
      const begun: number[] = [];
      const call = () => {
        begun.push(Date.now());
        return Promise.resolve('done');
      };
      const answering = Promise.all(Array.from({ length: 40 }, () => gate.run(call, SURE)));
      await vi.advanceTimersByTimeAsync(2_000);
      const answers = await answering;
      const refused = answers.filter((answer) => typeof answer === 'object');
      expect(begun).toHaveLength(20);
      expect(refused).toHaveLength(20);
      expect(refused[0]).toMatchObject({ kind: 'unsent', reason: 'busy' });
      for (const from of begun)
        expect(begun.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(10);
    } finally {
      vi.useRealTimers();
    }
  });

  it('pause after 20 unknown outcomes in a row for 30 s; then one call tries', async () => {
    let now_ms = 0;
    let calls = 0;
    const gate = new Gate({ max_in_flight: 100, max_rps: 10_000 }, () => now_ms);
    const say = (kind: 'unknown' | 'credited') => () => {
      calls++;
      return Promise.resolve({ kind });
    };
    const unknown = {
      isUnknown: ({ kind }: { kind: string }) => kind === 'unknown',
      saysNothing: () => false,
    };
    for (let i = 1; i < CIRCUIT_UNKNOWNS; i++) await gate.run(say('unknown'), unknown);
    await gate.run(say('credited'), unknown);
    for (let i = 1; i < CIRCUIT_UNKNOWNS; i++) await gate.run(say('unknown'), unknown);
    expect(gate.isOpen).toBe(false);
    await gate.run(say('unknown'), unknown);
    expect(gate.isOpen).toBe(true);
    calls = 0;
    now_ms = 29_999;
    expect(await gate.run(say('credited'), unknown)).toMatchObject({ reason: 'circuit' });
    now_ms = 30_000;
    const trial = gate.run(say('unknown'), unknown);
    const others = await Promise.all([
      gate.run(say('credited'), unknown),
      gate.run(say('credited'), unknown),
    ]);
    expect(await trial).toEqual({ kind: 'unknown' });
    expect(others.filter((answer) => 'reason' in answer).length).toBe(2);
    expect(calls).toBe(1);
    now_ms = 60_000;
    expect(await gate.run(say('credited'), unknown)).toEqual({ kind: 'credited' });
    expect(gate.isOpen).toBe(false);
  });

  it('of a platform that does not answer hold up no other', async () => {
    await client.control({ faults: { delay_ms: 0 } });
    const asked: Socket[] = [];
    const silent = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => asked.push(socket));
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const slow = platformAt(`http://127.0.0.1:${port}`, { timeout_ms: 30_000, max_in_flight: 2 });
    const ended: string[] = [];
    const stuck = Array.from({ length: 30 }, async () => {
      const { kind } = await slow.grant(orderOf(), 1);
      ended.push(kind);
    });
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => platformAt(fake.url).grant(orderOf(), 1)),
    );
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['credited']));
    // Those that hold the places of the silent platform have no answer yet: nobody waited for them.
    expect(ended).not.toContain('unknown');
    // The others have waited for a place for as long as they may.
    await expect.poll(() => ended).toEqual(Array(28).fill('unsent'));
    await expect.poll(() => asked.length).toBe(2);
    for (const socket of asked) socket.destroy();
    await Promise.all(stuck);
    expect(ended.slice(28)).toEqual(['unknown', 'unknown']);
    silent.close();
  });

  it('count a connection that is not taken in time as an unknown outcome', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    // Nothing answers the beginning of TLS.
    const limits = { timeout_ms: 200, max_in_flight: CIRCUIT_UNKNOWNS };
    const impatient = new Egress({ allow: LOOPBACK_NETWORKS, connect_ms: 200 });
    const platform = platformAt(`https://127.0.0.1:${port}`, limits, systemClock, impatient);
    const calls = Array.from({ length: CIRCUIT_UNKNOWNS }, () => platform.grant(orderOf(), 1));
    for (const call of await Promise.all(calls)) {
      expect(call).toMatchObject({ kind: 'unsent', reason: 'unreachable' });
    }
    expect(await platform.grant(orderOf(), 1)).toMatchObject({ kind: 'unsent', reason: 'circuit' });
    await impatient.close();
    silent.close();
  });

  const SURE = { isUnknown: () => false, saysNothing: () => false };
});

it('a platform with every fault credits each grant once, however often it is sent', async () => {
  const seed = 20_261;
  const faults = {
    seed,
    drop: 0.1,
    error_before: 0.1,
    error_after: 0.1,
    lost: 0.1,
    rate_limit: 0.1,
    accept: 0.2,
  };
  await client.control({ faults });
  const platform = platformAt(fake.url);
  const orders = Array.from({ length: 60 }, orderOf);
  await Promise.all(
    orders.map(async (order) => {
      for (let attempt = 1; attempt < 50; attempt++) {
        const { kind } = await platform.grant(order, attempt);
        if (kind === 'credited' || kind === 'accepted' || kind === 'duplicate') return;
        expect(['unknown', 'unsent']).toContain(kind);
      }
      throw new Error('the grant never ended');
    }),
  );
  const { bonuses } = await client.ledger();
  const ours = bonuses.filter(({ grant_id }) => orders.some((order) => order.grant_id === grant_id));
  expect(ours).toHaveLength(60);
  for (const { status, credits } of ours) expect(credits).toBe(status === 'active' ? 1 : 0);
});
