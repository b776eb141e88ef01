import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONSOLE_DIR } from '../../src/console/static.ts';
import { startTestService, type TestService } from '../engines/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${service.base_url}${path}`, { headers, redirect: 'manual' });

async function scriptName(): Promise<string> {
  const names = await readdir(join(CONSOLE_DIR, 'assets'));
  return names.find((name) => name.endsWith('.js')) ?? '';
}

test('the page may load from its own host alone, runs no inline script, and is framed by nobody', async () => {
  const page = await get('/console/');
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  expect(page.headers.get('cache-control')).toBe('no-cache');
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|http/);
  expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin');
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  // Only by HTTPS: on loopback it would lock the browser out of every other service of this machine.
  expect(page.headers.get('strict-transport-security')).toBeNull();
  expect(await page.text()).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
});

test('addresses of screens are the page, whose router reads them; unknown files are not', async () => {
  const page = await (await get('/console/')).text();
  expect(await (await get('/console/players/0190?tab=money')).text()).toBe(page);
  expect((await get('/console/assets/no-such.js')).status).toBe(404);
  expect((await get('/console/..%2fpackage.json')).status).not.toBe(200);
  expect(await (await get('/console/.stamp')).text()).toBe(page);
  expect((await get('/console/index.html.br')).status).toBe(404);
});

test('files with a hash in their name are kept for ever, and sent as they were compressed', async () => {
  const name = await scriptName();
  const plain = await readFile(join(CONSOLE_DIR, 'assets', name));
  for (const encoding of ['br', 'gzip']) {
    const response = await get(`/console/assets/${name}`, { 'accept-encoding': encoding });
    expect(response.headers.get('content-encoding')).toBe(encoding);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(Buffer.from(await response.arrayBuffer()).equals(plain)).toBe(true);
  }
});

test('browsers that open the bare address come to the console; other clients get the 404 of the API', async () => {
  const browser = await get('/', { accept: 'text/html,application/xhtml+xml' });
  expect([browser.status, browser.headers.get('location')]).toEqual([302, '/console/']);
  const client = await get('/', { accept: 'application/json' });
  expect(client.status).toBe(404);
  expect(await client.json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
  expect((await get('/console')).headers.get('location')).toBe('/console/');
});

test('with HTTPS browsers are told to stay with it', async () => {
  await service.close();
  service = await startTestService({ public_url: 'https://localhost' });
  const page = await get('/console/');
  expect(page.headers.get('strict-transport-security')).toBe('max-age=31536000');
});
