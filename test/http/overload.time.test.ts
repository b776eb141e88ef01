import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../engines/until.ts';
import { folded, startTestService, type TestService } from '../engines/service.ts';
import { statementWaits } from '../engines/lock-wait.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

interface Answer {
  status: number;
  retry_after: string | null;
  took_ms: number;
  body: { data: Record<string, unknown>; error?: { code: string } };
}

async function call(url: string, token?: string, body?: unknown): Promise<Answer> {
  const started_ms = performance.now();
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const is_json = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    retry_after: response.headers.get('retry-after'),
    took_ms: performance.now() - started_ms,
    body: (is_json ? JSON.parse(text) : {}) as Answer['body'],
  };
}

const api = (path: string, body?: unknown) =>
  call(
    service.base_url + path,
    path === '/v1/players/identify' ? service.api_key : service.session_token,
    body,
  );
const accept = (transaction_id: string) =>
  call(`${service.ingest_url}/v1/events`, service.api_key, {
    event: 'deposit_confirmed',
    anonymous_id: 'device',
    properties: { amount: 100, currency: 'EUR', transaction_id, payment_method: 'card' },
  });

it('a locked table stops only the requests that need it, and nothing is lost', async () => {
  const { postgres } = service.platform;
  expect((await accept('before')).status).toBe(202);
  await folded(service.platform);
  let release = () => undefined as void;
  let hold = () => undefined as void;
  const held = new Promise<void>((resolve) => (hold = resolve));
  const locking = postgres.service.begin(async (tx) => {
    await tx`lock table players in access exclusive mode`;
    hold();
    await new Promise<void>((resolve) => (release = resolve));
  });
  await held;
  try {
    const needing = Array.from({ length: 30 }, (_, i) => [
      api('/v1/players'),
      api('/v1/players/identify', { external_id: `player-${i}`, anonymous_id: `device-${i}` }),
      api('/v1/players/0198c0de-0000-7000-8000-000000000000'),
    ]).flat();
    await statementWaits(postgres.service);
    let others: Answer[] = [];
    let is_over = false;
    const answered = Promise.all(needing).then((answers) => {
      is_over = true;
      return answers;
    });
    for (let rounds = 1; ; rounds++) {
      const round = await Promise.all([
        api('/v1/templates'),
        api('/v1/campaigns'),
        call(`${service.base_url}/healthz`),
        call(`${service.base_url}/readyz`),
        call(`${service.base_url}/metrics`),
      ]);
      others = [...others, ...round];
      if (is_over && rounds >= 5) break;
    }
    const accepted = await Promise.all(['one', 'two', 'three'].map(accept));
    const refused = await answered;
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.error?.code}`))).toEqual(
      new Set(['503 SERVICE_UNAVAILABLE']),
    );
    expect(refused.filter(({ retry_after }) => !(Number(retry_after) >= 1)).slice(0, 20)).toEqual([]);
    expect(Math.max(...refused.map(({ took_ms }) => took_ms))).toBeLessThan(15_000);
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
    expect(Math.max(...others.map(({ took_ms }) => took_ms))).toBeLessThan(12_000);
    expect(accepted.map(({ status }) => status)).toEqual([202, 202, 202]);
    // While the lock lasts, a request finds out at once that it would wait.
    const later = await Promise.all([api('/v1/players'), api('/v1/players'), api('/v1/players')]);
    expect(later.map(({ status }) => status)).toEqual([503, 503, 503]);
  } finally {
    release();
    await locking;
  }
  await until(async (saw) => saw((await api('/v1/players')).status) === 200);
  await until(
    async (saw) => saw((await api('/v1/players/identify', { external_id: 'later' })).status) === 200,
  );
  await folded(service.platform);
  const { body } = await api('/v1/players');
  expect(body.data).toContainEqual(expect.objectContaining({ total_deposited: 400 }));
  const letters = await service.platform.eventLog.endOffsets('dead-letters');
  expect([...letters.values()].filter((end) => end !== 0n).slice(0, 20)).toEqual([]);
});
