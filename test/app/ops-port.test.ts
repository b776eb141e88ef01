import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../engines/http-client.ts';
import { startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';

let service: TestService;
let closed: Promise<void> | undefined;
beforeAll(async () => {
  service = await startTestService({ ops: { host: '127.0.0.1', port: 0 }, drain_ms: 1_500 });
});
afterAll(async () => {
  await closed;
  await service?.close();
});

const statusOf = async (url: string, headers: Record<string, string> = {}) =>
  (await fetch(url, { headers })).status;
const internal = () => ({ 'x-internal-secret': service.internal_secret });
const session = () => ({ authorization: `Bearer ${service.session_token}` });
const DEAD_LETTERS = '/v1/internal/dead-letters';

it('health, metrics and the internal endpoints are on the address for operations, and nowhere else', async () => {
  const { base_url, ingest_url } = service;
  const { ops_url } = service.service;
  const probes = ['/healthz', '/readyz', '/metrics'];
  for (const path of probes) {
    // An engine that takes long on a busy machine makes the process not ready for a moment.
    const isThere = async () => ((await statusOf(ops_url + path)) === 200 ? true : undefined);
    await until(`${path} answers 200`, isThere);
    expect([path, await statusOf(base_url + path)]).toEqual([path, 404]);
    expect([path, await statusOf(ingest_url + path)]).toEqual([path, 404]);
  }
  expect(await statusOf(ops_url + DEAD_LETTERS)).toBe(401);
  expect(await statusOf(ops_url + DEAD_LETTERS, internal())).toBe(200);
  expect(await statusOf(base_url + DEAD_LETTERS, internal())).toBe(404);
  expect(await statusOf(`${base_url}/v1/players`, session())).toBe(200);
  expect(await statusOf(`${ops_url}/v1/players`, session())).toBe(404);
});

it('a process that was told to stop is not ready first, and takes requests until the drain is over', async () => {
  const { ops_url } = service.service;
  closed = service.service.close();
  const ready = await fetch(`${ops_url}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([
    503,
    { error: { code: 'SERVICE_UNAVAILABLE', details: { service: 'stopping' } } },
  ]);
  expect(await statusOf(`${ops_url}/healthz`)).toBe(200);
  expect(await statusOf(`${service.base_url}/v1/players`, session())).toBe(200);
  const accepted = await call(`${service.ingest_url}/v1/events`, service.api_key, {
    body: { event: 'session_start', anonymous_id: 'device' },
  });
  expect(accepted.status).toBe(202);
  await closed;
  await expect(fetch(`${ops_url}/healthz`)).rejects.toThrow();
});
