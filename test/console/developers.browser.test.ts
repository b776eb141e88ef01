import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operationsOf, type Document } from '../../scripts/client/document.ts';
import { call } from '../engines/http-client.ts';
import { until } from '../engines/until.ts';
import { messagingClient } from '../engage/messaging/messaging-client.ts';
import { webhookFixture } from '../engage/webhooks/webhook-fixture.ts';
import {
  accessibilityFaults,
  faultsInBothThemes,
  openConsole,
  show,
  type ConsoleBrowser,
} from './browser.ts';
import { HOSTILE, misplacement, openAs, overflows } from './members.ts';

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_?.close());

/** What the service answers to a key. */
const statusOf = async (key: string) => {
  const { base_url } = console_.service;
  return (await call(`${base_url}/v1/me`, key)).status;
};

test('a signing secret is shown once, signs, and is deleted after a question', async () => {
  const page = await console_.open('developers?tab=signing');
  await page.getByRole('heading', { name: 'No signing secret yet' }).waitFor();
  await page.getByRole('button', { name: 'New secret' }).click();
  const dialog = page.getByRole('dialog', { name: 'The new signing secret' });
  const secret = (await dialog.locator('code').textContent()) ?? '';
  expect(await accessibilityFaults(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByText('Signs now').waitFor();
  expect(await page.content()).not.toContain(secret);
  await page.getByRole('button', { name: /^Delete the secret/ }).click();
  await page.getByRole('dialog').getByText('Without any other secret webhooks are not signed').waitFor();
  await page.getByRole('button', { name: 'Delete the secret', exact: true }).click();
  await page.getByRole('heading', { name: 'No signing secret yet' }).waitFor();
});

describe('API keys', () => {
  test('a secret is shown once, its key works, and does not once it is revoked', async () => {
    const page = await console_.open('developers');
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByRole('dialog').waitFor();
    // What is typed goes into the first field.
    await page.keyboard.type('typed');
    expect(await page.getByLabel('Name').inputValue()).toBe('typed');
    await page.getByLabel('Name').fill(HOSTILE.script);
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: /is created$/ });
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
    await row.getByText('Not yet').waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(await page.title()).toBe('Developers · Console');
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await misplacement(page)).toBeLessThan(1);
    }
    await row.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByRole('dialog').getByText(prefix).waitFor();
    const safe = page.getByRole('button', { name: 'Not now' });
    expect(await safe.evaluate((one) => one.matches(':focus'))).toBe(true);
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await statusOf(secret)).toBe(401);
    await page.getByLabel('Status').selectOption('revoked');
    await page.getByText(prefix).waitFor();
    expect(new URL(page.url()).searchParams.get('status')).toBe('revoked');
  });

  test('a client key is made with its origins and its secret, changed, and replaced while it works', async () => {
    const page = await console_.open('developers');
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByText('Keep a server key only on your servers').waitFor();
    await page.getByLabel('Name').fill('casino page');
    await page.getByLabel('Kind').selectOption('client');
    await page.getByText('A client key may be public in a page or an app').waitFor();
    await page.getByLabel('Allowed origins').fill('https://casino.example/\nhttps://m.casino.example');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('https://casino.example').first().waitFor();
    await page.getByLabel('Allowed origins').fill(' https://casino.example \n\nhttps://m.casino.example');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: /is created$/ });
    await dialog.getByRole('button', { name: 'Copy the client secret' }).waitFor();
    const [key = '', client_secret = ''] = await dialog.locator('code').allTextContents();
    expect([key.startsWith('svc_pk_dev_'), client_secret.startsWith('svc_cs_')]).toEqual([true, true]);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    const row = page.getByRole('row').filter({ hasText: key.slice(0, 19) });
    await row.getByText('Client https://casino.example, https://m.casino.example').waitFor();
    await row.getByText('No end').waitFor();
    expect(await page.content()).not.toContain(client_secret);

    await row.getByRole('button', { name: 'Change casino page' }).click();
    await page.getByLabel('Allowed origins').fill('https://casino.example');
    await page.getByLabel(/^Ends at/).fill('2040-01-31T12:00');
    await page.getByRole('button', { name: 'Save' }).click();
    await row.getByText('No end').waitFor({ state: 'detached' });
    await row.getByText(/Client https:\/\/casino\.example$/).waitFor();

    await row.getByRole('button', { name: 'Replace casino page' }).click();
    await page.getByText(`Both keys work until you revoke ${key.slice(0, 19)}`).waitFor();
    expect(await page.getByLabel('Allowed origins').inputValue()).toBe('https://casino.example');
    await page.getByRole('button', { name: 'Create key' }).click();
    const next = (await dialog.locator('code').first().textContent()) ?? '';
    expect([next === key, await statusOf(key), await statusOf(next)]).toEqual([false, 200, 200]);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await console_.service.service.key_uses?.flush();
    await page.reload();
    await row.getByText('Other', { exact: true }).waitFor();
  });

  test('are for admins: a viewer gets what everybody may read', async () => {
    const page = await openAs(console_, 'viewer', 'developers?tab=keys');
    await page.getByRole('heading', { name: 'Check a key' }).waitFor();
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    for (const name of ['Webhooks', 'Adapters'])
      expect(await page.getByRole('link', { name }).count()).toBe(0);
    await page.getByText('an administrator can create one').waitFor();
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
  const count = operationsOf((await response.json()) as Document).length;
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

test('a subscription is created, its secret shown once, and its state, events and acts on its page', async () => {
  const page = await console_.open('developers?tab=subscriptions');
  await page.getByText('No subscriptions yet').waitFor();
  await page.getByRole('button', { name: 'New subscription' }).click();
  await page.getByLabel('Name').fill(HOSTILE.script);
  await page.getByLabel('Endpoint').fill('https://data.example.test/events');
  await page.getByLabel('tier.changed').check();
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create subscription' }).click();
  const made = page.getByRole('dialog', { name: /is created$/ });
  expect(await made.locator('code').textContent()).toMatch(/^[\w-]{43}$/);
  await made.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByText('https://data.example.test/events').click();
  await page.getByText('Up to date').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Enable' }).waitFor();
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText(/^0 events/).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await misplacement(page)).toBeLessThan(1);
  }
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete the subscription' }).click();
  await page.getByText('No subscriptions yet').waitFor();
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
  await page.getByText('The endpoint answered with an error (503)').click();
  const drawer = page.getByRole('dialog', { name: 'Webhook' });
  await drawer.getByText('onerror').waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Status').selectOption('delivered');
  await page.getByText('No webhook has this status').waitFor();
  await page.route('**/v1/webhook-deliveries?*', (route) => route.abort());
  await page.getByLabel('Status').selectOption('failed');
  await page.getByRole('alert').getByText('UNREACHABLE').waitFor();
});

describe('adapters', () => {
  test('one is made with a secret that is shown once, changed over what somebody else has saved, and gets a new secret', async () => {
    const api = messagingClient(console_.service);
    const page = await console_.open('developers?tab=adapters');
    await page.getByText('No adapters yet').waitFor();
    await page.getByRole('button', { name: 'New adapter' }).click();
    const dialog = page.getByRole('dialog', { name: 'New adapter' });
    await dialog.getByLabel('Slug').fill('shown-casino');
    await dialog.getByLabel('Address of the platform').fill('http://example.com');
    await dialog.getByLabel('Authorization').selectOption('bearer');
    await dialog.getByLabel('Token').fill('first-token');
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create adapter' }).click();
    await dialog.getByText('must begin with https://').first().waitFor();
    await dialog.getByLabel('Address of the platform').fill('http://127.0.0.1:9');
    await dialog.getByRole('button', { name: 'Create adapter' }).click();
    const made = page.getByRole('dialog', { name: 'The adapter “shown-casino” is created' });
    const secret = (await made.locator('code').textContent()) ?? '';
    expect(secret).toMatch(/^[\w-]{43}$/);
    await page.keyboard.press('Escape');
    await made.getByRole('button', { name: 'I have copied it' }).click();
    await page
      .getByRole('row')
      .filter({ hasText: 'shown-casino' })
      .getByText('HTTP', { exact: true })
      .waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'shown-casino' }).waitFor();
    const id = new URL(page.url()).searchParams.get('adapter') ?? '';
    const stored = async () => (await api.api('GET', `/v1/adapters/${id}`)).data;
    await page.getByLabel('Maximum calls per second').fill('20');
    await page.getByLabel('Cancels bonuses').selectOption('false');
    await page.getByLabel('Token').fill('second-token');
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).getByText('Stay').click();
    const theirs = { max_rps: 30, capabilities: { kyc: false } };
    expect((await api.api('PATCH', `/v1/adapters/${id}`, theirs)).status).toBe(200);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('row', { name: 'max_rps 20 30' }).waitFor();
    await page.getByRole('row', { name: 'auth.token "a new token"' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save mine over it' }).click();
    await expect.poll(async () => (await stored())['max_rps']).toBe(20);
    expect(await stored()).toMatchObject({ capabilities: { cancel: false, kyc: false, grant: true } });
    await page.getByRole('button', { name: 'Rotate the secret' }).click();
    await page.getByRole('dialog', { name: 'Rotate the secret of “shown-casino”?' }).waitFor();
    await page.getByRole('button', { name: 'Create a new secret' }).click();
    const rotated = page.getByRole('dialog', { name: 'The new secret of “shown-casino”' });
    expect(await rotated.locator('code').textContent()).not.toBe(secret);
    await rotated.getByRole('button', { name: 'I have copied it' }).click();
    const audit = page.getByRole('grid', { name: 'Audit log' });
    for (const action of ['Created', 'Changed', 'Secret rotated'])
      await audit.getByRole('row').filter({ hasText: action }).first().waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Timeout (ms)').fill('1');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: '500' }).first().waitFor();
  });

  test('a sandbox shows what it was given, and the built-in one when it was given nothing', async () => {
    const api = messagingClient(console_.service);
    // One adapter of the project is active at a time.
    const { data: adapters } = await api.api<{ id: string; is_active: boolean }[]>('GET', '/v1/adapters');
    for (const { id } of adapters.filter((one) => one.is_active))
      await api.api('PATCH', `/v1/adapters/${id}`, { is_active: false });
    const sandbox = await api.api('POST', '/v1/adapters', { slug: 'kept-bonuses', kind: 'sandbox' });
    const [ada = ''] = await api.players(1);
    const template = await api.api('POST', '/v1/bonus-templates', {
      name: HOSTILE.script,
      type: 'no_deposit',
      config: { amount: 1234, currency: 'EUR' },
      wagering_requirement_multiplier: 1,
    });
    const body = { template_id: template.data['id'], player_id: ada };
    const grant = await api.api('POST', '/v1/bonus-grants', body, { 'idempotency-key': randomUUID() });
    expect(grant.status, JSON.stringify(grant.error)).toBe(201);
    // The list shows what the sandbox has when it is opened.
    await until('the sandbox has the bonus', async (saw) => {
      const { data } = await api.api<{ status: string }>(
        'GET',
        `/v1/bonus-grants/${String(grant.data['id'])}`,
      );
      return saw(data).status === 'active';
    });
    const page = await console_.open(`developers?tab=adapters&adapter=${String(sandbox.data['id'])}`);
    const row = page.getByRole('row').filter({ hasText: '€12.34' });
    await row.getByText('Active').waitFor();
    await row.click();
    const drawer = page.getByRole('dialog', { name: 'Bonus in the sandbox' });
    await drawer.getByText('"amount_subunit": 1234').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await page.getByLabel('Calls a second').count()).toBe(0);
    await page.getByRole('button', { name: 'All adapters' }).click();
    // The list is loaded, and kept below.
    await page.getByRole('row').filter({ hasText: 'kept-bonuses' }).waitFor();
    await page.getByRole('button', { name: 'The built-in sandbox' }).click();
    await page.getByText('No bonuses yet').waitFor();
    await page.route('**/v1/adapters?*', (route) => route.abort());
    await page.getByRole('button', { name: 'All adapters' }).click();
    await page.getByRole('row').filter({ hasText: 'kept-bonuses' }).waitFor();
    await page.reload();
    await page.getByRole('alert').getByText('UNREACHABLE').waitFor();
  });
});

test('accessible in light and dark, in a narrow window', async () => {
  const page = await console_.open('developers', { width: 400 });
  for (const tab of [
    'keys',
    'snippets',
    'events',
    'reference',
    'adapters',
    'adapters&adapter=sandbox',
    'webhooks',
  ]) {
    await show(page, `developers?tab=${tab}`);
    expect([tab, await faultsInBothThemes(page)]).toEqual([tab, []]);
    expect([tab, await overflows(page)]).toEqual([tab, false]);
  }
});
