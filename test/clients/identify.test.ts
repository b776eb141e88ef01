import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { BrowserClient, ClientOptions, TrackOptions } from '../../clients/js/src/browser/client.ts';
import { transportTo } from '../../clients/js/src/events/transport.ts';
import { verdictOf } from '../../clients/js/src/events/answers.ts';
import { createClient as serverClient, type EventInput } from '../../clients/js/src/server.ts';
import { packageRoot } from '../../src/package-root.ts';

// Who did it: identify is a call of the API host, and an event names its player by anonymous_id or player_id.

const OPTIONS = { key: 'k', ingest_url: 'http://127.0.0.1:1' };
const MISSING = /identify needs base_url, the API host/;

let browserClient: (options: ClientOptions) => BrowserClient;
beforeAll(async () => {
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('document', { addEventListener: () => undefined });
  // By its path: types of browsers are none of this project.
  const module: unknown = await import(join(packageRoot, 'clients/js/src/browser.ts'));
  browserClient = (module as { createClient: typeof browserClient }).createClient;
});
afterAll(() => void vi.unstubAllGlobals());

it('identify rejects at once without the API host, before the consent too', async () => {
  await expect(browserClient(OPTIONS).identify('player-42')).rejects.toThrow(MISSING);
  await expect(browserClient({ key: 'k' }).identify('player-42')).rejects.toThrow(MISSING);
  await expect(serverClient(OPTIONS).identify({ external_id: 'player-42' })).rejects.toThrow(MISSING);
  // The origin of the page.
  await browserClient({ key: 'k', base_url: '' }).identify('player-42');
  await serverClient({ ...OPTIONS, base_url: OPTIONS.ingest_url }).identify({ external_id: 'player-42' });
});

it('an identify call that another page left is dropped with a code, where the API host is not known', async () => {
  const post = transportTo({ ...OPTIONS, base_url: undefined });
  const signal = new AbortController().signal;
  const answer = await post({ kind: 'identify', body: '{}', key: '', signal });
  expect(verdictOf(answer, 'identify')).toEqual({ kind: 'refused', code: 'BASE_URL_MISSING' });
});

it('external_id alone names no player', () => {
  const by_external_id = { event: 'login', external_id: 'player-42' };
  // Types: each of these is `true` only where the type refuses what names nobody.
  const alone: typeof by_external_id extends EventInput ? never : true = true;
  const of_page: 'external_id' extends keyof TrackOptions ? never : true = true;
  const accepted: EventInput[] = [
    { ...by_external_id, anonymous_id: 'wallet-42' },
    { ...by_external_id, player_id: 'p' },
  ];
  expect([alone, of_page, accepted.length]).toEqual([true, true, 2]);
});
