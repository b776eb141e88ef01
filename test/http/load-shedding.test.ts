import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildIntakeApp } from '../../src/app/intake-app.ts';
import type { IntakeDeps } from '../../src/ingest/intake/routes.ts';
import { until } from '../engines/until.ts';
import { openFixture, type Fixture } from './api-fixture.ts';

let fixture: Fixture;
let api: FastifyInstance;
let intake: FastifyInstance;
beforeAll(async () => {
  fixture = await openFixture();
  api = fixture.app;
  // No request of this file reaches a dependency.
  intake = buildIntakeApp({ metrics: fixture.platform.metrics } as IntakeDeps, fixture.platform.logger);
  await Promise.all([api.ready(), intake.ready()]);
});
afterAll(async () => {
  await intake?.close();
  await fixture?.close();
});

/** Occupies the event loop for some turns, as computations would. */
async function occupy(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_300);
    await setImmediate();
  }
}

const statusOf = async (app: FastifyInstance, url: string, method: 'GET' | 'POST' = 'GET') =>
  (await app.inject({ method, url })).statusCode;

it('requests are refused while the event loop is late, except those of probes', async () => {
  // Without a credential a request that is taken is 401.
  expect(await statusOf(api, '/v1/players')).toBe(401);
  expect(await statusOf(intake, '/healthz')).toBe(200);
  await occupy(1);
  expect(await statusOf(api, '/v1/players')).toBe(401);
  await occupy(4);
  const answers = await Promise.all([
    api.inject('/v1/players'),
    intake.inject({ method: 'POST', url: '/v1/events', headers: { origin: 'https://casino.example' } }),
    api.inject('/healthz'),
    api.inject('/metrics'),
    intake.inject('/healthz'),
  ]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([503, 503, 200, 200, 200]);
  for (const refused of answers.slice(0, 2)) {
    expect(refused.headers['retry-after']).toBe('2');
    expect(refused.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
  }
  // A page must see when to try again; preflights are answered, because without them the page sees nothing.
  expect(answers[1]?.headers).toMatchObject({ 'access-control-allow-origin': 'https://casino.example' });
  const headers = { origin: 'https://casino.example', 'access-control-request-method': 'POST' };
  const preflight = await intake.inject({ method: 'OPTIONS', url: '/v1/events', headers });
  expect(preflight.statusCode).toBe(204);
  await until(async (saw) => saw(await statusOf(api, '/v1/players')) === 401);
});
