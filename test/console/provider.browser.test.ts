import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { accessibilityFaults } from './browser.ts';
import { launchBrowser } from './chromium.ts';
import { provideSignIn } from './provider-fixture.ts';

const fixture = provideSignIn();
let browser: Browser;
const faults: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
afterEach(() => {
  expect(faults.splice(0)).toEqual([]);
});

/** Opens a page of the console in a browser of its own, which is not signed in. */
async function open(path: string): Promise<Page> {
  const context = await browser.newContext();
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    const is_ours = message.location().url.startsWith(fixture.service.base_url);
    if (is_ours && /Content Security Policy/i.test(message.text())) faults.push(message.text());
  });
  await page.goto(fixture.at(`/console/${path}`));
  return page;
}

const signIn = (page: Page) => page.getByRole('link', { name: 'Sign in' }).click();

test('a browser signs in by the provider, comes back to its page, and signs out at the provider, too', async () => {
  const page = await open('players?q=anna');
  await signIn(page);
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
  expect(new URL(page.url()).href).toContain(fixture.at('/console/players?q=anna'));
  expect(await page.context().cookies(fixture.service.base_url)).toMatchObject([
    { name: '__Host-session', domain: '127.0.0.1', path: '/', httpOnly: true, secure: true, sameSite: 'Lax' },
  ]);
  await page.getByRole('button', { name: 'User and display' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await page.waitForURL(fixture.at('/console/**'));
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
  expect(await page.context().cookies(fixture.service.base_url)).toEqual([]);
});

test('a session that ends is begun again in a window of its own, and the page keeps what was typed', async () => {
  const page = await open('players');
  await signIn(page);
  await page.getByRole('searchbox').fill('half a na');
  await page.getByText('No player matches').waitFor();
  await page.context().clearCookies({ domain: '127.0.0.1' });
  await page.getByRole('searchbox').fill('half a name');
  await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
  const opened = page.context().waitForEvent('page');
  await page.getByRole('button', { name: 'Sign in again' }).click();
  const popup = await opened;
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await page.getByRole('searchbox').inputValue()).toBe('half a name');
  expect(await page.evaluate(async () => (await fetch('/v1/session')).status)).toBe(200);
  await expect.poll(() => popup.isClosed()).toBe(true);
});

test('who is not let in reads why, on a page that axe finds nothing on', async () => {
  fixture.provider.user = undefined;
  const page = await open('players');
  await signIn(page);
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  fixture.provider.user = 'owner-1';
  await page.getByRole('link', { name: 'To the console' }).click();
  await signIn(page);
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
});
