import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiKeys } from '../../../src/http/auth/authenticators.ts';
import { readConfig } from '../../../src/config.ts';
import type { ApiError } from '../../../src/errors.ts';
import { guess } from './guess.ts';
import { startProxiedService, type ProxiedService } from './proxied-service.ts';

let service: ProxiedService;

beforeAll(async () => {
  service = await startProxiedService();
});
afterAll(() => service?.close());

type Keys = Awaited<ReturnType<typeof openKeys>>;
const openKeys = () => {
  const { platform } = service;
  const { notifications } = service.service;
  return openApiKeys({ ...platform, config: readConfig({}), sql: platform.postgres.service, notifications });
};
/** The tenant of the key, or why it is refused. */
async function ask(keys: Keys, key: string, ip: string): Promise<string | ApiError> {
  try {
    return (await keys.authenticate(`Bearer ${key}`, { ip })).tenant_id;
  } catch (error) {
    return error as ApiError;
  }
}

test('guesses beyond what waits for the next look-up are refused; other addresses wait for none of them', async () => {
  const { proxy } = service;
  const keys = await openKeys();
  const askAll = (count: number) =>
    Promise.all(Array.from({ length: count }, () => ask(keys, guess(), '2001:db8:1:2::9')));
  await askAll(40);
  const before = proxy.passed();
  const waiting = askAll(300);
  expect(await ask(keys, service.api_key, '2001:db8:1:3::9')).toBe(service.tenant_id);
  expect(proxy.passed() - before).toBe(1);
  const answers = (await waiting).map((error) => (error as ApiError).code);
  expect(answers.filter((code) => code === 'UNAUTHORIZED')).toHaveLength(200);
  expect(answers.filter((code) => code === 'RATE_LIMITED')).toHaveLength(100);
  expect(proxy.passed() - before).toBeLessThan(5);
  expect(await ask(keys, service.api_key, '2001:db8:1:2::7')).toBe(service.tenant_id);
});

test('guesses of connections that end before the answer count, too', async () => {
  const keys = await openKeys();
  const ip = '2001:db8:1:6::9';
  const codes = await Promise.all(
    Array.from({ length: 40 }, async () => {
      // The address of a closed connection is undefined.
      const from = { ip };
      const asked = Promise.resolve(keys.authenticate(`Bearer ${guess()}`, from));
      Reflect.deleteProperty(from, 'ip');
      return asked.catch((error: unknown) => (error as ApiError).code);
    }),
  );
  expect(new Set(codes)).toEqual(new Set(['UNAUTHORIZED']));
  const more = await Promise.all(Array.from({ length: 300 }, () => ask(keys, guess(), ip)));
  expect(more.filter((error) => (error as ApiError).code === 'RATE_LIMITED')).toHaveLength(100);
});

test('an address that stops to guess is looked up at once again', async () => {
  const keys = await openKeys();
  const [guesser, former] = ['2001:db8:1:4::9', '2001:db8:1:5::9'];
  const guessFrom = (ip: string) => Array.from({ length: 40 }, () => ask(keys, guess(), ip));
  await Promise.all(guessFrom(former));
  service.advance(61_000);
  await Promise.all(guessFrom(guesser));
  const { api_key, tenant_id } = await service.newTenant();
  const answered: string[] = [];
  // A look-up that waits for guesses would share the query of the first, and be answered after it.
  const waiting = ask(keys, guess(), guesser).then(() => answered.push('guess'));
  expect(await ask(keys, api_key, former)).toBe(tenant_id);
  answered.push('key');
  await waiting;
  expect(answered).toEqual(['key', 'guess']);
});
