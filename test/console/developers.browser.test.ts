import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { webhookFixture } from '../engage/webhooks/webhook-fixture.ts';
import { accessibilityFaults, openConsole, type ConsoleBrowser } from './browser.ts';
import { HOSTILE, openAs, overflows } from './members.ts';

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_?.close());

/** What the service answers to a key. */
const statusOf = async (key: string) => {
  const { base_url } = console_.service;
  return (await fetch(`${base_url}/v1/me`, { headers: { authorization: `Bearer ${key}` } })).status;
};

describe('API keys', () => {
  test('a secret is shown once, its key works, and does not once it is revoked', async () => {
    const page = await console_.open('developers');
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill(HOSTILE.script);
    await page.getByRole('button', { name: 'Make the key' }).click();
    const dialog = page.getByRole('dialog', { name: /is made$/ });
    const secret = (await dialog.locator('code').textContent()) ?? '';
    expect(secret).toMatch(/^svc_pk_dev_[^_]{8}_/);
    expect(await statusOf(secret)).toBe(200);
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Copy the key' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
    const prefix = secret.slice(0, 'svc_pk_dev_12345678'.length);
    const row = page.getByRole('row').filter({ hasText: prefix });
    await row.waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(await page.title()).toBe('Developers · Console');
    await row.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByRole('dialog').getByText(prefix).waitFor();
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await statusOf(secret)).toBe(401);
    await page.getByLabel('Status').selectOption('revoked');
    await page.getByText(prefix).waitFor();
    expect(new URL(page.url()).searchParams.get('status')).toBe('revoked');
  });

  test('are for admins: a viewer gets what everybody may read', async () => {
    const page = await openAs(console_, 'viewer', 'developers?tab=keys');
    await page.getByRole('heading', { name: 'Check a key' }).waitFor();
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Webhooks' }).count()).toBe(0);
    await page.getByText('an administrator can make one').waitFor();
  });
});

test('the snippets have the addresses of this service, and an event sent by one arrives', async () => {
  const { service } = console_;
  const page = await console_.open('developers?tab=snippets');
  const text = await page.getByRole('group', { name: 'Send an event' }).textContent();
  const url = /curl -X POST (\S+)/.exec(text ?? '')?.[1] ?? '';
  // The document has the configured port, which is any free one here.
  expect([new URL(url).hostname, new URL(url).pathname]).toEqual([
    new URL(service.base_url).hostname,
    '/v1/events',
  ]);
  const body = /-d '(.*)'$/s.exec(text ?? '')?.[1] ?? '';
  const headers = { authorization: `Bearer ${service.api_key}`, 'content-type': 'application/json' };
  expect((await fetch(`${service.ingest_url}/v1/events`, { method: 'POST', headers, body })).status).toBe(
    202,
  );
  const read = await page.getByRole('group', { name: 'Read players with a session' }).textContent();
  expect(read).toContain(`${service.base_url}/v1/players`);
  expect(read).toContain(service.project_id);
});

test('the reference has every operation of the document, is searched, and shows one with its schemas', async () => {
  const response = await fetch(`${console_.service.base_url}/openapi.json`);
  const { paths } = (await response.json()) as { paths: Record<string, object> };
  const count = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  const page = await console_.open('developers?tab=reference');
  await page.getByText(`${count} rows`).waitFor();
  await page.getByRole('searchbox').fill('patch template liquid');
  await page.getByText('No operation matches').waitFor();
  await page.getByRole('searchbox').fill('post players identify');
  await page.getByText('1 row', { exact: true }).waitFor();
  await page.getByRole('row').nth(1).focus();
  await page.keyboard.press('Enter');
  const drawer = page.getByRole('dialog', { name: 'POST /v1/players/identify' });
  await drawer.getByText('API key.').waitFor();
  await drawer.getByText('external_id').first().waitFor();
  const ids = drawer.getByText('player_id', { exact: true });
  const shown_before = await ids.count();
  await drawer.getByText('data', { exact: true }).click();
  await expect.poll(() => ids.count()).toBe(shown_before + 1);
  expect(new URL(page.url()).searchParams.get('op')).toBe('post_v1_players_identify');
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Event catalogue' }).click();
  await page.getByRole('searchbox', { name: 'Search by name' }).fill('deposit_conf');
  await page.getByText('1 row', { exact: true }).waitFor();
  await page.getByText('amount, currency, transaction_id, payment_method').click();
  await page.getByRole('dialog', { name: 'deposit_confirmed' }).getByText('payment_method').waitFor();
});

test('the ledger of webhooks shows what failed and why', async () => {
  const on = webhookFixture(console_.service);
  const page = await console_.open('developers?tab=webhooks');
  await page.getByText('No webhooks yet').waitFor();
  const { event_id } = await on.call(await on.journey(), { url: 'https://hook.example.test/in' });
  await on.sql`
    update webhook_deliveries set status = 'failed', completed_at = now(), attempts = 5, last_status = 503,
      last_error = 'WEBHOOK_HTTP_ERROR', last_reason = 'status 503', response = ${HOSTILE.script}
    where event_id = ${event_id}`;
  await page.reload();
  await page.getByText('WEBHOOK_HTTP_ERROR (503)').click();
  const drawer = page.getByRole('dialog', { name: 'Webhook' });
  await drawer.getByText('onerror').waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Status').selectOption('delivered');
  await page.getByText('No webhook has this status').waitFor();
  await page.route('**/v1/webhook-deliveries?*', (route) => route.abort());
  await page.getByLabel('Status').selectOption('failed');
  await page.getByRole('alert').getByText('UNREACHABLE').waitFor();
});

test.each(['light', 'dark'] as const)('accessible in %s, also in a narrow window', async (theme) => {
  const page = await console_.open('developers', { theme, width: 400 });
  for (const tab of ['keys', 'snippets', 'events', 'reference', 'webhooks']) {
    await page.goto(`${console_.service.base_url}/console/developers?tab=${tab}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    expect([tab, await accessibilityFaults(page)]).toEqual([tab, []]);
    expect([tab, await overflows(page)]).toEqual([tab, false]);
  }
});
