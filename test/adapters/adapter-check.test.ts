import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkAdapter, type Check, type Target } from '../../scripts/adapter-conformance.ts';
import { newWebhookSecret, signatureOf } from '../../src/http/auth/webhook-signature.ts';
import { FakePlatformClient, startFakePlatform, type FakePlatform } from '../bonuses/fake-platform.ts';

const secret = newWebhookSecret();
let fake: FakePlatform;
/** A platform that accepts everything, whatever its signature, twice too. */
let careless: Server;
beforeAll(async () => {
  fake = await startFakePlatform([secret]);
  careless = createServer((request, response) => {
    request
      .resume()
      .on('end', () => response.writeHead(201).end('{"platform_bonus_id":"1","status":"credited"}'));
  }).listen(0, '127.0.0.1');
  await once(careless, 'listening');
});
afterAll(async () => {
  careless.close();
  await fake.close();
});

async function run(target: Partial<Target>): Promise<{ passed: boolean; checks: Check[] }> {
  const checks: Check[] = [];
  const passed = await checkAdapter({ url: fake.url, secret, ...target }, (check) => checks.push(check));
  return { passed, checks };
}

it('passes a platform that speaks the protocol, and leaves one cancelled bonus there', async () => {
  await new FakePlatformClient(fake.url).control({ token: 'tok' });
  const { passed, checks } = await run({ bearer: 'tok', player: 'player-7' });
  expect(checks.filter((check) => !check.passed)).toEqual([]);
  expect(passed).toBe(true);
  expect(checks.map(({ name }) => name)).toEqual([
    'a grant with a wrong signature',
    'a grant whose signature is of another body',
    'a grant with a stale timestamp',
    'grant',
    'the same grant again',
    'status by grant',
    'status by id',
    'status of an unknown grant',
    'cancel',
    'cancel again',
    'status after the cancel',
    'cancel of an unknown grant',
  ]);
  const { bonuses, calls } = await new FakePlatformClient(fake.url).ledger();
  expect(bonuses).toMatchObject([{ status: 'cancelled', credits: 1, amount: '1' }]);
  const players = calls.filter(({ body }) => body !== '').map(({ body }) => JSON.parse(body) as object);
  for (const sent of players) expect(sent).toMatchObject({ player_external_id: 'player-7' });
});

it('fails one that checks the secret, but not of which body the signature is', async () => {
  const lenient = createServer((request, response) => {
    void buffer(request).then((body) => {
      const { 'x-service-signature': signature, 'x-service-timestamp': timestamp } = request.headers;
      const texts = [body, Buffer.concat([body, Buffer.from(' ')])];
      const knows = texts.some((text) => signatureOf(secret, Number(timestamp), text) === signature);
      response.writeHead(knows ? 201 : 401).end('{"platform_bonus_id":"1","status":"credited"}');
    });
  }).listen(0, '127.0.0.1');
  await once(lenient, 'listening');
  const { port } = lenient.address() as AddressInfo;
  const { checks } = await run({ url: `http://127.0.0.1:${port}` });
  lenient.close();
  const passed = new Map(checks.map((check) => [check.name, check.passed]));
  expect(passed.get('a grant with a wrong signature')).toBe(true);
  expect(passed.get('a grant whose signature is of another body')).toBe(false);
});

it('fails one that checks no signature and keeps nothing, one that is given another secret, and one that is not there', async () => {
  const { port } = careless.address() as AddressInfo;
  const { checks } = await run({ url: `http://127.0.0.1:${port}` });
  const failed = checks.filter((check) => !check.passed).map(({ name }) => name);
  expect(failed).toEqual(
    expect.arrayContaining(['a grant with a wrong signature', 'status by grant', 'cancel']),
  );
  expect((await run({ secret: newWebhookSecret() })).passed).toBe(false);
  expect(
    (await run({ url: 'http://127.0.0.1:1' })).checks.filter((check) => check.passed).slice(0, 20),
  ).toEqual([]);
});
