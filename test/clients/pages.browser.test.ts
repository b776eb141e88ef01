import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, BrowserContext, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { BrowserClient } from '../../clients/js/src/browser/client.ts';
import { launchBrowser } from '../console/chromium.ts';
import { call } from '../engines/http-client.ts';
import { packageRoot } from '../../src/package-root.ts';
import { folded, sunk, type TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { until } from '../engines/until.ts';
import { installClient, type InstalledClient } from './installed.ts';

// The browser entry of clients/js in pages of a real browser, against the service.

let service: TestService;
let browser: Browser;
let installed: InstalledClient;
/** Serves the pages: another origin than those of the service. */
let pages: Server;
let origin: string;
/** path → what is there: HTML, but for the client. */
const served = new Map([['/shop', '<title>Shop</title>']]);
/** Of the kind `client`, for these pages. */
let client_key: string;
let client_secret: string;
beforeAll(async () => {
  [service, browser, installed] = await Promise.all([sharedService(), launchBrowser(), installClient()]);
  served.set('/client.js', await readFile(installed.file('dist/browser.js'), 'utf8'));
  pages = createServer(({ url = '' }, response) => {
    const type = url.endsWith('.js') ? 'text/javascript' : 'text/html';
    response.writeHead(served.has(url) ? 200 : 404, { 'content-type': type }).end(served.get(url));
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  const { base_url, project_id, session_token } = service;
  const body = { name: 'page', kind: 'client', allowed_origins: [origin] };
  const made = await call(`${base_url}/v1/projects/${project_id}/api-keys`, session_token, { body });
  client_key = String(made.data['key']);
  client_secret = String(made.data['client_secret']);
});
afterAll(async () => {
  pages?.close();
  await Promise.all([browser?.close(), installed?.remove()]);
  await service?.close();
});

const BATCHES = '**/v1/events/batch';

/** A browser of its own. `sent` has the Idempotency-Key of each request. */
async function newVisitor(): Promise<{ context: BrowserContext; sent: string[]; open: () => Promise<Page> }> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const sent: string[] = [];
  context.on('request', (request) => {
    if (request.url().endsWith('/batch')) sent.push(request.headers()['idempotency-key'] ?? '');
  });
  const open = async () => {
    const page = await context.newPage();
    await page.goto(`${origin}/shop`);
    const { ingest_url, base_url } = service;
    await page.evaluate(`import('/client.js').then(({ createClient }) => {
      globalThis.client = createClient(${JSON.stringify({ key: client_key, ingest_url, base_url })});
    })`);
    return page;
  };
  return { context, sent, open };
}

const userHashOf = (external_id: string) =>
  createHmac('sha256', client_secret).update(external_id).digest('hex');

/** Calls the client of a page. */
function ask<T>(page: Page, work: (client: BrowserClient) => Promise<T> | T): Promise<T> {
  return page.evaluate(`(${work.toString()})(globalThis.client)`);
}

const idOf = async (page: Page) => (await ask(page, (client) => client.anonymous_id)) ?? '';
/** How many entries wait in the browser. */
const waiting = (page: Page) =>
  page.evaluate<number>(`new Promise((resolve, reject) => {
    const request = indexedDB.open('player-engagement');
    request.onerror = reject;
    request.onsuccess = () => {
      if (request.result.objectStoreNames.length === 0) return resolve(0);
      const count = request.result.transaction('entries').objectStore('entries').count();
      count.onsuccess = () => { request.result.close(); resolve(count.result); };
    };
  })`);
const isSent = (page: Page) => until('all is sent', async (saw) => saw(await waiting(page)) === 0);

/** The events of the player with this anonymous_id, in their order. */
async function eventsOf(
  anonymous_id: string,
): Promise<{ events: unknown[]; sessions: unknown; external_id: unknown }> {
  await folded(service.platform);
  await sunk(service.platform);
  const read = (path: string) => call(`${service.base_url}/v1/players/${path}`, service.session_token);
  const [found] = (await read(`search?q=${anonymous_id}`)).data as unknown as { id: string }[];
  if (found === undefined) return { events: [], sessions: 0, external_id: undefined };
  const player = (await read(found.id)).data;
  const timeline = (await read(`${found.id}/timeline?limit=200`)).data as unknown as {
    event: string;
    properties: { n?: number };
  }[];
  const events = timeline.map(({ event, properties }) => properties.n ?? event).toReversed();
  return { events, sessions: player['session_count'], external_id: player['external_id'] };
}

test('without consent nothing is kept or sent, and a revoked consent removes everything, in all tabs', async () => {
  const { sent, open, context } = await newVisitor();
  const page = await open();
  await ask(page, async (client) => {
    await client.track('page_view');
    await client.identify('nobody');
    await client.flush();
  });
  expect(await idOf(page)).toBe('');
  expect(await page.evaluate('localStorage.length')).toBe(0);
  expect(await page.evaluate('indexedDB.databases()')).toEqual([]);
  expect(sent).toEqual([]);
  const other = await open();
  await context.route(BATCHES, (route) => route.abort());
  for (const tab of [page, other]) {
    await ask(tab, async (client) => {
      await client.consent(true);
      await client.track('page_view');
    });
  }
  expect(await waiting(page)).toBe(2);
  expect(await idOf(other)).toBe(await idOf(page));
  await ask(page, (client) => client.consent(false));
  await until('the other tab has learnt it', async () => (await idOf(other)) === '');
  await ask(other, (client) => client.track('page_view'));
  await until('nothing waits', async (saw) => saw(await waiting(page)) === 0);
  expect(await page.evaluate('localStorage.length')).toBe(0);
});

test('a revoked consent removes what waits in a browser that keeps nothing, too', async () => {
  const { sent, open, context } = await newVisitor();
  await context.addInitScript(`indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); }`);
  await context.route(BATCHES, (route) => route.abort());
  const page = await open();
  await ask(page, async (client) => {
    await client.consent(true);
    await client.track('page_view');
  });
  await ask(page, (client) => client.consent(false));
  await context.unroute(BATCHES);
  sent.length = 0;
  await ask(page, async (client) => {
    await client.consent(true);
    await client.flush();
  });
  expect(sent).toEqual([]);
});

test('what a killed tab left is sent once by the next, after the times without a network', async () => {
  const { context, sent, open } = await newVisitor();
  const killed = await open();
  await context.setOffline(true);
  await ask(killed, async (client) => {
    await client.consent(true);
    await client.track('session_start', { n: 0 });
    for (let n = 1; n < 30; n++) await client.track('custom_step', { n });
  });
  const user_hash = userHashOf('visitor-42');
  await killed.evaluate(`globalThis.client.identify('visitor-42', { user_hash: '${user_hash}' })`);
  await ask(killed, (client) => client.track('custom_step', { n: 30 }));
  const anonymous_id = await idOf(killed);
  await killed.close();
  await context.setOffline(false);
  // The service takes the first batch, and the page never learns it.
  let cut = 0;
  const cutOnce = async (route: Route) => {
    if (cut++ > 0) return route.continue();
    await route.fetch();
    await route.abort();
  };
  await context.route(BATCHES, cutOnce);
  const next = await open();
  await ask(next, (client) => client.consent(true));
  await isSent(next);
  expect(await idOf(next)).toBe(anonymous_id);
  const { events, ...player } = await eventsOf(anonymous_id);
  expect(events).toEqual(Array.from({ length: 31 }, (_, n) => n));
  expect(player).toEqual({ sessions: 1, external_id: 'visitor-42' });
  // The first batch twice under its key, and the event after the identify call.
  expect(sent.length - new Set(sent).size).toBeGreaterThanOrEqual(1);
});

test('two tabs send one after the other, and what a page does when it is hidden is sent', async () => {
  const { context, open } = await newVisitor();
  let now = 0;
  let most = 0;
  await context.route(BATCHES, async (route) => {
    most = Math.max(most, ++now);
    const response = await route.fetch();
    now--;
    await route.fulfill({ response });
  });
  const tabs = [await open(), await open()];
  const sendMany = async (client: BrowserClient) => {
    await client.consent(true);
    for (let n = 0; n < 25; n++) await client.track('custom_step', { n });
  };
  await Promise.all(tabs.map((tab) => ask(tab, sendMany)));
  const [tab] = tabs as [Page, Page];
  await isSent(tab);
  expect(most).toBe(1);
  // Long before the second after which it would be sent.
  await tab.evaluate(`globalThis.client.track('custom_step', { n: 99 }).then(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
    document.dispatchEvent(new Event('visibilitychange'));
  })`);
  await isSent(tab);
  const { events } = await eventsOf(await idOf(tab));
  expect(events.length).toBe(51);
  for (let n = 0; n < 25; n++) expect(events.filter((one) => one === n).length).toBe(2);
});

test('the examples of docs/clients.md send what they say', async () => {
  const text = await readFile(join(packageRoot, 'docs/clients.md'), 'utf8');
  const example = (name: string): string => {
    const found = new RegExp(`\n\`\`\`js ${name}\n([^]*?)\`\`\``).exec(text)?.[1] ?? '';
    expect(found.trim().split('\n').length, name).toBeLessThanOrEqual(5);
    return found;
  };
  const { api_key, ingest_url, base_url } = service;
  const names = { CLIENT_KEY: client_key, API_KEY: api_key, INGEST_URL: ingest_url, BASE_URL: base_url };
  const constants = Object.entries({ ...names, USER_HASH: userHashOf('player-42') })
    .map(([name, value]) => `const ${name} = ${JSON.stringify(value)};\n`)
    .join('');
  const { context } = await newVisitor();
  const imports = { imports: { '@player-engagement/client/browser': '/client.js' } };
  const idIn = async (kind: string, storage_name: string) => {
    const module_text = `${constants}${example(kind)}\nawait client.flush();\nglobalThis.is_done = true;`;
    const body = `<script type="importmap">${JSON.stringify(imports)}</script><script type="module">${module_text}</script>`;
    served.set(`/${kind}`, body);
    const page = await context.newPage();
    await page.goto(`${origin}/${kind}`);
    await page.waitForFunction('globalThis.is_done');
    return page.evaluate<string>(`localStorage.getItem('${storage_name}:anonymous_id')`);
  };
  const visitor = await idIn('page', 'player-engagement');
  const app = await idIn('webview', 'app');
  const script = join(installed.folder, 'backend.mjs');
  await writeFile(script, constants + example('backend'));
  await promisify(execFile)(process.execPath, [script], { cwd: installed.folder });
  expect((await eventsOf(visitor)).events).toEqual(['page_view']);
  expect(await eventsOf(app)).toEqual({ events: ['session_start'], sessions: 1, external_id: 'player-42' });
  expect((await eventsOf('wallet-42')).events).toEqual(['deposit_confirmed']);
});
