import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser } from 'playwright-core';
import type { TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { accessibilityFaults } from './browser.ts';
import { launchBrowser } from './chromium.ts';

let service: TestService;
let browser: Browser;
beforeAll(async () => {
  [service, browser] = await Promise.all([sharedService(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

test('the reference of the API is shown without an account, from this host alone', async () => {
  const { base_url } = service;
  const page = await browser.newPage();
  const asked: string[] = [];
  const faults: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => (message.type() === 'error' ? faults.push(message.text()) : undefined));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`${base_url}/console/docs.html`);
  await page.getByRole('searchbox', { name: 'Search' }).fill('identify');
  const entry = page.locator('#post_v1_players_identify');
  await entry.locator('summary').click();
  await entry.getByRole('heading', { name: 'Example of an answer' }).waitFor();
  expect(await entry.locator('pre').last().textContent()).toContain('"player_id"');
  expect(await entry.textContent()).toContain('external_id');
  expect(await page.locator('#get_v1_overview').isHidden()).toBe(true);
  // A grant with its history has the fields of a grant, too, in one list.
  await page.getByRole('searchbox', { name: 'Search' }).fill('bonus-grants history');
  const grant = page.locator('#get_v1_bonus_grants_id');
  await grant.locator('summary').click();
  const own = grant.locator('dl dl', { hasText: 'granted_by' }).first();
  expect(await own.locator('> dt > code').allTextContents()).toEqual(
    expect.arrayContaining(['wagering_progress', 'history']),
  );
  expect(await accessibilityFaults(page)).toEqual([]);
  // The address names what is open.
  await page.goto(`${base_url}/console/docs.html#post_v1_events`);
  await page.reload();
  await page.locator('#post_v1_events').getByRole('heading', { name: 'Errors' }).waitFor();
  expect(asked.filter((url) => !url.startsWith(base_url))).toEqual([]);
  expect(faults).toEqual([]);
});
