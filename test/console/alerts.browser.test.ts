import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../engines/http-client.ts';
import { faultsInBothThemes, openConsole, show, type ConsoleBrowser } from './browser.ts';
import { openAs, overflows } from './members.ts';

// Alerts: which figure is watched, when it fires, and who gets a notice.

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_?.close());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const URL_ = 'https://operator.example/alerts';

test('an alert is previewed, written, changed, read by viewers, and deleted', async () => {
  const page = await console_.open('insights');
  await page.getByRole('link', { name: /What is not as it should be/ }).click();
  await page.getByText('No alert yet').waitFor();
  await page.getByRole('link', { name: 'New alert' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Deposits <b>');
  await page.getByLabel('Fires', { exact: true }).selectOption({ label: 'At a limit' });
  expect(await button(page, 'When would it have fired?').isDisabled()).toBe(true);
  await page.getByLabel('Limit').fill('12.50');
  await button(page, 'When would it have fired?').click();
  await page.getByText(/^It would have fired in 90 intervals of 90/).waitFor();
  await page.getByLabel('Receiver 1 by').selectOption({ label: 'Signed webhook' });
  await page.getByLabel('URL of receiver 1').fill('http://10.0.0.1/');
  await button(page, 'Create the alert').click();
  await page.getByRole('alert').first().waitFor();
  await page.getByLabel('URL of receiver 1').fill(URL_);
  expect(await faultsInBothThemes(page)).toEqual([]);
  await button(page, 'Create the alert').click();
  await page.getByText('It has not fired yet.').waitFor();
  const id = new URL(page.url()).searchParams.get('alert') ?? '';
  const { base_url, session_token } = console_.service;
  const read = async () => (await call(`${base_url}/v1/alerts/${id}`, session_token, { method: 'GET' })).data;
  expect(await read()).toMatchObject({
    query: { kind: 'trend', series: [{ metric: 'deposits' }] },
    condition: { kind: 'threshold', op: 'lte', value: 1_250 },
    receivers: [{ kind: 'webhook', url: URL_ }],
  });
  expect(await page.getByLabel('Limit').inputValue()).toBe('12.50');

  await page.getByLabel('Fires', { exact: true }).selectOption({ label: 'At a change' });
  await page.getByLabel('Change in percent').fill('-12.5');
  await button(page, 'Save').click();
  // While it is saved, its fields cannot be changed; then there is nothing to save.
  await expect
    .poll(async () => [
      await page.getByLabel('Interval').isEnabled(),
      await button(page, 'Save').isDisabled(),
    ])
    .toEqual([true, true]);
  expect(await read()).toMatchObject({
    condition: { kind: 'change', against: 'week', op: 'lte', bp: -1_250 },
  });

  const viewer = await openAs(console_, 'viewer', `insights/alerts?alert=${id}`);
  await viewer.getByRole('heading', { name: 'Deposits <b>' }).waitFor();
  expect(await viewer.getByLabel('Change in percent').isDisabled()).toBe(true);
  expect(await viewer.getByRole('button', { name: /^(Save|Delete)/ }).count()).toBe(0);
  const narrow = await console_.open(`insights/alerts?alert=${id}`, { width: 390 });
  await narrow.getByLabel('Change in percent').waitFor();
  expect(await overflows(narrow)).toBe(false);

  await show(page, `insights/alerts?alert=${id}`);
  await page.getByLabel('Watching').selectOption({ label: 'Off' });
  await button(page, 'Save').click();
  await expect.poll(async () => (await read())['state']).toBe('disabled');
  await show(page, 'insights/alerts');
  const row = page.getByRole('row', { name: /Deposits <b>/ });
  await row.getByText('Each day').waitFor();
  await row.getByText('Off').waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
  await row.click();
  await button(page, 'Delete the alert').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the alert' }).click();
  await page.getByText('No alert yet').waitFor();
});

test('when it has fired, why it fails, and a figure of the API are said', async () => {
  const { service } = console_;
  const { base_url, session_token, tenant_id, project_id } = service;
  const made = await call(`${base_url}/v1/alerts`, session_token, {
    method: 'POST',
    body: {
      name: 'Share',
      query: { kind: 'trend', series: [{ metric: 'ggr' }, { metric: 'deposits' }], ratio: [0, 1] },
      interval: 'day',
      condition: { kind: 'unusual', minimum: 10 },
      receivers: [{ kind: 'webhook', url: URL_ }],
    },
  });
  expect(made.status, made.text).toBe(201);
  const id = String(made.data['id']);
  await service.platform.postgres.service`
    update alerts set next_at = 'infinity', failures = 1, error_code = 'RATE_LIMITED', failed_at = now(),
      error_message = 'the seconds are used', updated_at = now() + interval '1 second'
    where alert_id = ${id}`;
  await service.platform.postgres.service`
    insert into alert_firings (tenant_id, project_id, alert_id, from_at, to_at, facts, decided_at)
    values (${tenant_id}, ${project_id}, ${id}, '2026-01-01T00:00Z', '2026-01-02T00:00Z',
      '{"value": {"numerator": 1, "denominator": 4}, "before": null, "low": 0.5, "high": 0.75}', now())`;
  const page = await console_.open(`insights/alerts?alert=${id}`);
  await page
    .getByText('It could not be computed: the seconds are used. It is tried again (failed once).')
    .waitFor();
  await page.getByText('This figure was set over the API', { exact: false }).waitFor();
  const fired = page.getByRole('region', { name: 'When it has fired' });
  await fired.getByText('0.5 to 0.75').waitFor();
  await fired.getByText('0.25', { exact: true }).waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
});
