import { randomInt } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../engines/service.ts';

let service: TestService | undefined;
afterEach(() => service?.close());

const guess = () =>
  `svc_pk_dev_${randomInt(2 ** 40)
    .toString(36)
    .padStart(8, '0')
    .slice(0, 8)}_${'x'.repeat(44)}`;

/** The status of a guessed key that a client sends through a proxy on this machine. */
async function guessFrom(address: string): Promise<number> {
  const response = await fetch(`${service?.ingest_url}/v1/events`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${guess()}`,
      'content-type': 'application/json',
      'x-forwarded-for': `192.0.2.1, ${address}`,
    },
    body: '{}',
  });
  await response.arrayBuffer();
  return response.status;
}

/** What 640 clients behind one proxy are answered who each guess one key. */
async function answersTo(trusted_proxies: readonly string[]): Promise<Set<number>> {
  service = await startTestService({ trusted_proxies });
  const addresses = Array.from({ length: 640 }, (_, n) => `203.0.${n >> 8}.${n & 255}`);
  const first = await Promise.all(addresses.splice(0, 40).map(guessFrom));
  expect(new Set(first)).toEqual(new Set([401]));
  return new Set(await Promise.all(addresses.map(guessFrom)));
}

it('the clients of a trusted proxy are told apart by X-Forwarded-For', async () => {
  expect(await answersTo(['127.0.0.0/8', '::1'])).toEqual(new Set([401]));
});

it('from any other machine the header says nothing: all of them share its limit', async () => {
  expect(await answersTo([])).toEqual(new Set([401, 429]));
});
